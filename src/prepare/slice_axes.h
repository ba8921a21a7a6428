#pragma once

#include "tare/graph.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tare {

/// What a Slice takes along one axis, as it is written.
struct AxisSlice {
  std::size_t axis = 0;
  std::int64_t start = 0;  ///< below 0: from the end
  std::int64_t end = 0;
  std::int64_t step = 1;

  /// Whether it goes on to the end, however long the axis is.
  bool is_open() const;
  /// Where it begins along an axis of that extent.
  std::int64_t begin(std::int64_t extent) const;
};

/// Of a Slice whose operands are constants that name axes; else nothing.
std::optional<std::vector<AxisSlice>> slice_axes(const Graph&, const Node& slice);

}  // namespace tare
