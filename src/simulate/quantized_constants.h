#pragma once

#include "tare/quant_table.h"
#include "tare/tensor.h"

namespace tare {

/// The integers that a weight becomes, in storage type.
Tensor quantized_weight(const Tensor& exact, const PointResult&);

/// The real values of a bias (one per output channel) with the correction of the accumulator
/// that it is added to.
Tensor corrected_bias(const Tensor& bias, const PointResult& accumulator);

}  // namespace tare
