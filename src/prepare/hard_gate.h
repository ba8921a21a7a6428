#pragma once

#include "prepare/constants.h"
#include "prepare/interval.h"
#include "prepare/product.h"

namespace tare {

/// x where the value is Clip(x + 3, 0, 6).
inline std::optional<ValueId> relu6_gate_of(const Graph& graph, ValueId value) {
  const Node* clip = computed_by(graph, value, "Clip");
  if (clip == nullptr || interval_of(graph, *clip) != Interval{0, 6}) {
    return std::nullopt;
  }
  const auto offset = offset_of(graph, clip->inputs[0]);
  return offset && offset->constant == 3 ? std::optional(offset->value) : std::nullopt;
}

}  // namespace tare
