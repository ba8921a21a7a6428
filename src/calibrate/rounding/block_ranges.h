#pragma once

#include "tare/quant_table.h"
#include "tare/tensor.h"

#include "calibrate/rounding/layer_rows.h"

namespace tare {

/// Chooses the range of every block of a matrix of weights for the least error of its products
/// with the rows, as far as the errors of single weights show it: each counts by the mean
/// square of what it is multiplied by. Ends are cut by up to a half of what was observed (the
/// clipping of Lin et al., "AWQ: Activation-aware Weight Quantization", 2023). `threads` do not
/// change the result.
void fit_block_ranges(const Tensor& weights, const QuantSpec&, const LayerRows&, int threads,
                      PointResult&);

}  // namespace tare
