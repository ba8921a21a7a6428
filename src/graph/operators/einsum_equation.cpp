#include "graph/operators/einsum_equation.h"

#include "tare/error.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace tare {
namespace {

using Labels = std::vector<int>;
constexpr std::string_view kEllipsis = "...";

Error broken(const std::string& why) {
  return {ErrorCode::kInvalidModel, "", why};
}

/// The labels of one term for an operand of that rank; an ellipsis takes the axes that are
/// left.
Labels labels_of(std::string_view term, std::size_t rank) {
  const std::size_t dots = term.find(kEllipsis);
  const bool has_dots = dots != std::string_view::npos;
  const std::size_t named = term.size() - (has_dots ? kEllipsis.size() : 0);
  if (has_dots ? named > rank : named != rank) {
    throw broken("'" + std::string(term) + "' does not fit an operand of rank " +
                 std::to_string(rank));
  }
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (std::size_t k = rank - named; k > 0; --k) {
        labels.push_back(-static_cast<int>(k));
      }
      i += kEllipsis.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else {
      throw broken("'" + std::string(1, term[i]) + "' is no label");
    }
  }
  return labels;
}

std::size_t ellipsis_rank(const std::vector<Labels>& operands) {
  int least = 0;
  for (const Labels& labels : operands) {
    for (const int label : labels) {
      least = std::min(least, label);
    }
  }
  return static_cast<std::size_t>(-least);
}

/// Without an arrow the result has the ellipsis, then what occurs once, in alphabetical order.
Labels implied_result(const std::vector<Labels>& operands) {
  std::map<int, int> times;
  for (const Labels& labels : operands) {
    for (const int label : labels) {
      ++times[label];
    }
  }
  Labels result;
  for (const auto& [label, count] : times) {
    if (label < 0 || count == 1) {
      result.push_back(label);
    }
  }
  return result;
}

Labels stated_result(std::string_view term, const std::vector<Labels>& operands) {
  const bool has_dots = term.find(kEllipsis) != std::string_view::npos;
  const Labels labels = labels_of(
      term, has_dots ? term.size() - kEllipsis.size() + ellipsis_rank(operands) : term.size());
  for (const int label : labels) {
    if (std::count(labels.begin(), labels.end(), label) != 1) {
      throw broken("the result has a label twice");
    }
  }
  return labels;
}

}  // namespace

Shape EinsumEquation::extents(const std::vector<int>& of,
                              const std::vector<Shape>& shapes) const {
  std::map<int, std::int64_t> known;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t axis = 0; axis < operands[i].size(); ++axis) {
      const std::int64_t extent = shapes[i][axis];
      std::int64_t& all = known.emplace(operands[i][axis], extent).first->second;
      if (all != 1 && extent != 1 && all != extent) {
        throw broken("extents " + std::to_string(all) + " and " + std::to_string(extent) +
                     " have one label");
      }
      all = all == 1 ? extent : all;
    }
  }
  Shape found;
  for (const int label : of) {
    const auto extent = known.find(label);
    if (extent == known.end()) {
      throw broken("the result has a label that no operand has");
    }
    found.push_back(extent->second);
  }
  return found;
}

EinsumEquation parse_einsum(const std::string& equation,
                            const std::vector<Shape>& operands) try {
  std::string text = equation;
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  EinsumEquation result;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t comma = left.find(',');
    const bool is_last = i + 1 == operands.size();
    if (is_last != (comma == std::string_view::npos)) {
      throw broken("the node has " + std::to_string(operands.size()) + " operands");
    }
    result.operands.push_back(labels_of(left.substr(0, comma), operands[i].size()));
    left.remove_prefix(is_last ? left.size() : comma + 1);
  }
  result.result =
      arrow == std::string::npos
          ? implied_result(result.operands)
          : stated_result(std::string_view(text).substr(arrow + 2), result.operands);
  return result;
} catch (Error& error) {
  error.at("equation '" + equation + "'");
  throw;
}

}  // namespace tare
