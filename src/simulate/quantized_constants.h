#pragma once

#include "tare/quant_table.h"
#include "tare/tensor.h"

namespace tare {

/// The integers that a weight becomes, in storage type.
Tensor quantized_weight(const Tensor& exact, const PointResult&);

/// How far integers of a weight are from the nearest ones, for PointResult::rounding: empty
/// where all are the nearest.
SharedArray<std::int8_t> unless_nearest(SharedArray<std::int8_t> rounding);

/// The real values of a bias (one per output channel) with the correction of the accumulator
/// that it is added to.
Tensor corrected_bias(const Tensor& bias, const PointResult& accumulator);

}  // namespace tare
