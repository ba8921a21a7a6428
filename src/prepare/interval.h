#pragma once

#include "tare/pattern.h"

#include <limits>

namespace tare {

/// The range that a Clip or Relu leaves.
struct Interval {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  bool is_relu() const { return low == 0 && high == Interval().high; }
  bool is_everything() const { return *this == Interval(); }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Nothing when the node is neither Clip nor Relu of a f32 value, when a bound is computed, or
/// when the lower one is above the upper one.
std::optional<Interval> interval_of(const Graph&, const Node&);

/// Clips `x` to the interval in the place of `node`, spelled in the one way for it: nothing,
/// Relu, or Clip with the bounds that matter.
void clip_in_place(Patch&, const Node& node, ValueId x, Interval);

}  // namespace tare
