// A Relu or Clip does nothing where its bounds round to the ends of the storage range or lie
// beyond, since Quantize saturates there anyway. Bounds are rounded as values are.
#include "lower/saturation.h"

#include "tare/graph.h"

#include <cmath>
#include <limits>
#include <optional>

namespace tare {
namespace {

/// The bounds that a Relu or Clip of expressed values sets; infinite where it sets none,
/// nothing when they are not constant numbers.
std::optional<Range> bounds_of(const Graph& graph, const Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (node.op == "Relu") {
    return Range{0, kInfinity};
  }
  Range bounds{-kInfinity, kInfinity};
  for (const std::size_t i : {1U, 2U}) {
    if (i < node.inputs.size() && node.inputs[i]) {
      const Tensor* bound = graph.constant(node.inputs[i]);
      if (bound == nullptr || bound->size() != 1) {
        return std::nullopt;
      }
      (i == 1 ? bounds.low : bounds.high) = bound->to_double().at(0);
    }
  }
  return bounds;
}

}  // namespace

bool saturates_like(const Graph& graph, const Node& activation, const QuantParams& params) {
  if (params.per_axis() || (activation.op != "Relu" && activation.op != "Clip")) {
    return false;
  }
  const auto bounds = bounds_of(graph, activation);
  if (!bounds) {
    return false;
  }
  const StorageRange range = params.range();
  const auto storage = [&](double bound) {
    return std::nearbyint(bound / static_cast<double>(params.scale[0])) + params.zero_point[0];
  };
  return storage(bounds->low) <= static_cast<double>(range.low) &&
         storage(bounds->high) >= static_cast<double>(range.high);
}

}  // namespace tare
