#pragma once

#include <cstdint>

namespace tare::tflite {

// Functions of gates on fixed-point numbers in int16, where "Q3.12" has 3 bits in front of the
// point and 12 behind it: the algorithms of gemmlowp's fixedpoint.h for 16 bits, bit for bit.

/// 1 / (1 + e^-x) for x in Q3.12; the result is in Q0.15.
std::int16_t sigmoid_of_gate(std::int16_t x);

/// tanh(x) for x with that many bits in front of the point, 0 to 6; the result is in Q0.15.
std::int16_t tanh_of_gate(std::int16_t x, int integer_bits);

}  // namespace tare::tflite
