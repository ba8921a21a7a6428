#include "support/same_structure.h"

#include "graph/operators/inner_graphs.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tare::test {
namespace {

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b) {}

  std::string difference() {
    if (a_.outputs().size() != b_.outputs().size()) {
      return "number of outputs";
    }
    for (std::size_t i = 0; i < a_.outputs().size() && difference_.empty(); ++i) {
      compare(a_.outputs()[i], b_.outputs()[i]);
    }
    return difference_;
  }

 private:
  void differ(const std::string& what, ValueId a, ValueId b) {
    if (difference_.empty()) {
      difference_ = what + ": '" + a_.name(a) + "' and '" + b_.name(b) + "'";
    }
  }

  void compare(ValueId a, ValueId b) {
    if (!difference_.empty()) {
      return;
    }
    if (const auto [known, added] = pairs_.emplace(a, b); !added) {
      if (known->second != b) {
        differ("one value is two", a, b);
      }
      return;
    }
    const TensorType& left = a_.type(a);
    const TensorType& right = b_.type(b);
    if (left.dtype != right.dtype || left.shape != right.shape || left.quant != right.quant) {
      differ("types", a, b);
      return;
    }
    const Tensor* constant = a_.constant(a);
    if (constant != nullptr || b_.constant(b) != nullptr) {
      if (constant == nullptr || b_.constant(b) == nullptr || *constant != *b_.constant(b)) {
        differ("constants", a, b);
      }
      return;
    }
    const auto from = a_.producer(a);
    const auto other = b_.producer(b);
    if (!from || !other) {
      if (from || other || a_.name(a) != b_.name(b)) {
        differ("inputs", a, b);
      }
      return;
    }
    compare(a_.node(*from), b_.node(*other), a, b);
  }

  void compare(const Node& left, const Node& right, ValueId a, ValueId b) {
    const std::vector<ValueId> from_left = operands(left);
    const std::vector<ValueId> from_right = operands(right);
    if (left.op != right.op || plain(left) != plain(right) ||
        from_left.size() != from_right.size()) {
      differ(left.op + " and " + right.op, a, b);
      return;
    }
    for (const std::string& attribute : graph_attributes(left.op)) {
      const Graph in_left = inner_graph(left, attribute);
      const Graph in_right = inner_graph(right, attribute);
      Comparison inner(in_left, in_right);
      const std::map<std::size_t, ValueId> others = inputs_by_operand(right, in_right);
      for (const auto& [place, id] : all_inputs(left, in_left)) {
        if (const auto found = others.find(place); found != others.end()) {
          inner.pairs_.emplace(id, found->second);
        }
      }
      if (const std::string found = inner.difference(); !found.empty()) {
        differ(attribute + " with " + found, a, b);
      }
    }
    for (std::size_t i = 0; i < from_left.size(); ++i) {
      if (static_cast<bool>(from_left[i]) != static_cast<bool>(from_right[i])) {
        differ("operands", a, b);
      } else if (from_left[i]) {
        compare(from_left[i], from_right[i]);
      }
    }
  }

  /// Those of the operator, and what inner graphs capture, each value once.
  static std::vector<ValueId> operands(const Node& node) {
    const auto own = static_cast<std::ptrdiff_t>(own_operands(node));
    std::vector<ValueId> result(node.inputs.begin(), node.inputs.begin() + own);
    for (auto input = node.inputs.begin() + own; input != node.inputs.end(); ++input) {
      if (std::find(result.begin() + own, result.end(), *input) == result.end()) {
        result.push_back(*input);
      }
    }
    return result;
  }

  /// Inputs of an inner graph with the places in operands() of what they stand for; behind
  /// these come those that the node itself gives.
  static std::vector<std::pair<std::size_t, ValueId>> all_inputs(const Node& node,
                                                                 const Graph& inner) {
    const std::vector<std::string> names = captured_names(node);
    const std::size_t own = own_operands(node);
    const std::vector<ValueId> values = operands(node);
    std::vector<std::pair<std::size_t, ValueId>> result;
    for (std::size_t i = 0; i < inner.inputs().size(); ++i) {
      const ValueId id = inner.inputs()[i];
      const auto name = std::find(names.begin(), names.end(), inner.name(id));
      if (name == names.end()) {
        result.emplace_back(values.size() + i, id);
        continue;
      }
      const ValueId value = node.inputs[own + static_cast<std::size_t>(name - names.begin())];
      const auto place =
          std::find(values.begin() + static_cast<std::ptrdiff_t>(own), values.end(), value);
      result.emplace_back(place - values.begin(), id);
    }
    return result;
  }
  static std::map<std::size_t, ValueId> inputs_by_operand(const Node& node,
                                                          const Graph& inner) {
    const auto all = all_inputs(node, inner);
    return {all.begin(), all.end()};
  }

  /// Without the inner graphs, in which names differ.
  static Attributes plain(const Node& node) {
    Attributes attributes = node.attributes;
    for (const std::string& attribute : graph_attributes(node.op)) {
      attributes.erase(attribute);
      attributes.erase("captured");
    }
    return attributes;
  }

  const Graph& a_;
  const Graph& b_;
  std::map<ValueId, ValueId> pairs_;
  std::string difference_;
};

}  // namespace

std::string structural_difference(const Graph& a, const Graph& b) {
  return Comparison(a, b).difference();
}

}  // namespace tare::test
