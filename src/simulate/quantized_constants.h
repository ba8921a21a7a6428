#pragma once

#include "tare/quant_table.h"
#include "tare/tensor.h"

namespace tare {

/// The integers that a weight becomes, in storage type.
Tensor quantized_weight(const Tensor& exact, const PointResult&);

/// The most bits of weights that can go without a zero point. Of 8 bits the differences would
/// not fit a byte, and two of 7 would leave the 16 bits in which some kernels add products two
/// and two.
constexpr int kCentredBits = 6;

/// Moves integers of so many bits and their zero points together to the middle of the storage
/// type, 0 of int8: most kernels take no other zero point for weights. Nothing is done to
/// blocks, whose products are real.
void centre(Tensor& integers, QuantParams&);

/// How far integers of a weight are from the nearest ones, for PointResult::rounding: empty
/// where all are the nearest.
SharedArray<std::int8_t> unless_nearest(SharedArray<std::int8_t> rounding);

/// The real values of a bias (one per output channel) with the correction of the accumulator
/// that it is added to.
Tensor corrected_bias(const Tensor& bias, const PointResult& accumulator);

}  // namespace tare
