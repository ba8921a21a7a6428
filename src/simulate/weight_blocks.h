#pragma once

#include "tare/quant_table.h"

#include <optional>

namespace tare {

struct Region;

/// Of a Gemm or MatMul of a computed operand and constant float weights: the axis of these that
/// is summed over, along which blocks lie. Nothing for other nodes.
std::optional<int> weight_block_axis(const Graph&, const Node&);

/// A product of real values with weights in blocks: no sum of integers has the scales of all of
/// them, so only the weights are quantized. Where it applies is up to the configuration.
const QuantPattern& weight_blocks();
bool has_weight_blocks(const Region&);

}  // namespace tare
