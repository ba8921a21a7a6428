#include "prepare/slice_axes.h"

#include <algorithm>
#include <limits>

namespace tare {

bool AxisSlice::is_open() const {
  return end >= std::numeric_limits<std::int32_t>::max();
}

std::int64_t AxisSlice::begin(std::int64_t extent) const {
  return std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0, extent);
}

std::optional<std::vector<AxisSlice>> slice_axes(const Graph& graph, const Node& slice) {
  const auto starts = constant_integers(graph, slice, 1);
  const auto ends = constant_integers(graph, slice, 2);
  const auto axes = constant_integers(graph, slice, 3);
  const auto steps = constant_integers(graph, slice, 4);
  const bool has_steps = slice.inputs.size() > 4 && slice.inputs[4];
  if (!starts || !ends || !axes || starts->size() != axes->size() ||
      ends->size() != axes->size() ||
      (has_steps && (!steps || steps->size() != axes->size()))) {
    return std::nullopt;
  }
  const std::size_t rank = graph.type(slice.inputs[0]).shape.size();
  std::vector<AxisSlice> result;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    result.push_back({normalized_axis((*axes)[i], rank), (*starts)[i], (*ends)[i],
                      has_steps ? (*steps)[i] : 1});
  }
  return result;
}

}  // namespace tare
