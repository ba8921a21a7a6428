// The choice of a width for each layer is a knapsack problem with multiple choices and up to
// two constraints. It is solved by dynamic programming with lists: layer after layer, all
// partial choices are kept that no other one beats in error, bytes and bit operations at once
// (Nemhauser and Ullmann, "Discrete Dynamic Programming and Capital Allocation", 1969). Lists
// that become long are trimmed: the range of what partial choices take is divided into cells,
// and of each cell the one with the least error stays (Ibarra and Kim, "Fast Approximation
// Algorithms for the Knapsack and Sum of Subset Problems", 1975). What a partial choice takes
// is never rounded, and one that could not be completed is not kept, so that the result is
// always within limits.
//
// Cost: for each layer and option, sorting the list, which has a bounded length.
#include "search/width_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tare {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Options for the first layers.
struct PartialChoice {
  double error = 0;
  double bytes = 0;
  double bit_operations = 0;
  std::uint32_t before = 0;  ///< of one layer less, by index
  std::uint32_t option = 0;  ///< of the last layer
};
using PartialChoices = std::vector<PartialChoice>;

/// What the layers from each one on take at least.
std::vector<WidthLimits> least_rests(std::span<const std::vector<WidthOption>> layers) {
  std::vector<WidthLimits> rests(layers.size() + 1);
  for (std::size_t i = layers.size(); i-- > 0;) {
    WidthLimits least{kInfinity, kInfinity};
    for (const WidthOption& option : layers[i]) {
      least.bytes = std::min(least.bytes, option.bytes);
      least.bit_operations = std::min(least.bit_operations, option.bit_operations);
    }
    rests[i] = {rests[i + 1].bytes + least.bytes,
                rests[i + 1].bit_operations + least.bit_operations};
  }
  return rests;
}

/// Without those that another one beats; in the order of their errors.
PartialChoices undominated(PartialChoices all) {
  std::sort(all.begin(), all.end(), [](const PartialChoice& a, const PartialChoice& b) {
    return std::tie(a.error, a.bytes, a.bit_operations, a.before, a.option) <
           std::tie(b.error, b.bytes, b.bit_operations, b.before, b.option);
  });
  PartialChoices kept;
  std::map<double, double> best;  // bytes, and the fewest bit operations with as many at most
  for (const PartialChoice& choice : all) {
    auto next = best.upper_bound(choice.bytes);
    if (next != best.begin() && std::prev(next)->second <= choice.bit_operations) {
      continue;
    }
    while (next != best.end() && next->second >= choice.bit_operations) {
      next = best.erase(next);
    }
    best.insert_or_assign(choice.bytes, choice.bit_operations);
    kept.push_back(choice);
  }
  return kept;
}

/// The cell of a value among so many.
class Cells {
 public:
  template <class Member>
  Cells(const PartialChoices& all, Member member, double count) {
    const auto [least, most] = std::minmax_element(
        all.begin(), all.end(),
        [member](const auto& a, const auto& b) { return a.*member < b.*member; });
    low_ = (*least).*member;
    const double range = (*most).*member - low_;
    scale_ = range > 0 ? count / range : 0;
  }
  double of(double value) const { return std::floor((value - low_) * scale_); }
  bool is_one() const { return scale_ == 0; }

 private:
  double low_ = 0;
  double scale_ = 0;
};

/// No more than a few thousand.
PartialChoices trimmed(PartialChoices all) {
  constexpr std::size_t kMost = 4096;
  if (all.size() <= kMost) {
    return all;
  }
  constexpr double kOfOne = kMost - 1;  // the highest value has a cell of its own
  constexpr double kOfBoth = 63;        // 64 * 64
  const Cells only_bytes(all, &PartialChoice::bytes, kOfOne);
  const Cells only_operations(all, &PartialChoice::bit_operations, kOfOne);
  const bool both = !only_bytes.is_one() && !only_operations.is_one();
  const Cells bytes = both ? Cells(all, &PartialChoice::bytes, kOfBoth) : only_bytes;
  const Cells operations =
      both ? Cells(all, &PartialChoice::bit_operations, kOfBoth) : only_operations;
  std::set<std::pair<double, double>> taken;
  PartialChoices kept;
  for (const PartialChoice& choice : all) {  // the one with the least error first
    if (taken.emplace(bytes.of(choice.bytes), operations.of(choice.bit_operations)).second) {
      kept.push_back(choice);
    }
  }
  return kept;
}

}  // namespace

std::optional<std::vector<std::size_t>> least_error_within(
    std::span<const std::vector<WidthOption>> layers, const WidthLimits& limits) {
  const std::vector<WidthLimits> rests = least_rests(layers);
  // What is not limited does not tell choices apart.
  const double counts_bytes = std::isinf(limits.bytes) ? 0 : 1;
  const double counts_operations = std::isinf(limits.bit_operations) ? 0 : 1;
  std::vector<PartialChoices> lists{{PartialChoice{}}};
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    PartialChoices longer;
    const PartialChoices& list = lists.back();
    for (std::uint32_t before = 0; before < list.size(); ++before) {
      for (std::uint32_t option = 0; option < layers[layer].size(); ++option) {
        const WidthOption& width = layers[layer][option];
        const PartialChoice choice{
            list[before].error + width.error, list[before].bytes + counts_bytes * width.bytes,
            list[before].bit_operations + counts_operations * width.bit_operations, before,
            option};
        const WidthLimits& rest = rests[layer + 1];
        if (choice.bytes + counts_bytes * rest.bytes <= limits.bytes &&
            choice.bit_operations + counts_operations * rest.bit_operations <=
                limits.bit_operations) {
          longer.push_back(choice);
        }
      }
    }
    lists.push_back(trimmed(undominated(std::move(longer))));
  }
  if (lists.back().empty() || limits.bytes < 0 || limits.bit_operations < 0) {
    return std::nullopt;
  }
  std::vector<std::size_t> result(layers.size());
  std::uint32_t at = 0;  // of the least error
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    const PartialChoice& choice = lists[layer + 1][at];
    result[layer] = choice.option;
    at = choice.before;
  }
  return result;
}

}  // namespace tare
