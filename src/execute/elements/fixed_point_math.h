#pragma once

#include "graph/arithmetic/rescale.h"

#include <cstdint>

namespace tare {

// Functions on fixed-point numbers in int32, where "Q5.26" has 5 bits in front of the point and
// 26 behind it; the algorithms of gemmlowp's fixedpoint.h, bit for bit, and of TensorFlow Lite
// for the inverse square root.

/// e^x for x <= 0 in Q(integer_bits).(31 - integer_bits); the result is in Q0.31.
std::int32_t exp_of_negative(std::int32_t x, int integer_bits);
/// 1 / (1 + x) for x in [0, 1]; both in Q0.31.
std::int32_t one_over_one_plus(std::int32_t x);
/// 1 / (1 + e^-x) for x in Q4.27; the result is in Q0.31.
std::int32_t logistic_q4(std::int32_t x);
/// tanh(x) for x in Q4.27; the result is in Q0.31.
std::int32_t tanh_q4(std::int32_t x);

/// 1 / sqrt(x) for x >= 1 as `significand * 2^(exponent - 31)`; of 1 and less the largest
/// number below 1.
FixedPointFactor inverse_square_root(std::int32_t x);

}  // namespace tare
