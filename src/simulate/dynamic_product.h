#pragma once

#include "tare/node.h"

#include <optional>

namespace tare {

/// Of a product of a computed operand and constant float weights that can quantize that operand
/// while it runs, a Conv, Gemm or MatMul: the axis of the weights along which results vary.
/// Nothing for other nodes.
std::optional<int> dynamic_weight_axis(const Graph&, const Node&);

}  // namespace tare
