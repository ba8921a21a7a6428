// As the same functions in int32 (execute/elements/fixed_point_math.cpp), with 16 bits in each
// step. Results have to be those of gemmlowp bit for bit, so none of this is ours to improve.
#include "tflite/gate_functions.h"

#include "graph/arithmetic/rescale.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tare::tflite {
namespace {

constexpr std::int32_t kMost = std::numeric_limits<std::int16_t>::max();
constexpr std::int32_t kLeast = std::numeric_limits<std::int16_t>::min();

std::int32_t saturated16(std::int32_t value) {
  return std::clamp(value, kLeast, kMost);
}

/// What is left of a sum in 16 bits.
std::int32_t wrapped(std::int32_t value) {
  return static_cast<std::int16_t>(value);
}

/// The high half of 2 * a * b, halves up.
std::int32_t product16(std::int32_t a, std::int32_t b) {
  constexpr std::int32_t kHalf = 1 << 14;
  if (a == kLeast && b == kLeast) {
    return kMost;
  }
  const std::int32_t product = a * b;
  return (product + (product >= 0 ? kHalf : 1 - kHalf)) / (2 * kHalf);
}

/// value * 2^places, saturated; rounded where places is negative.
std::int32_t scaled16(std::int32_t value, int places) {
  return places >= 0 ? saturated16(value * (1 << places)) : shifted_right(value, -places);
}

/// A constant of 32 bits in 16.
std::int32_t upper(std::int32_t constant) {
  return shifted_right(constant, 16);
}

/// 1 / x for x = (1 + a) / 2 by three steps of Newton; a is in Q0.15, the result in Q2.13.
std::int32_t reciprocal_of_half_of_one_plus(std::int32_t a) {
  constexpr std::int32_t kOne = 1 << 13;
  const std::int32_t sum = a + kMost;
  const std::int32_t x = (sum + (sum >= 0 ? 1 : -1)) / 2;
  std::int32_t y = wrapped(upper(1515870810) + product16(x, upper(-1010580540)));
  for (int step = 0; step < 3; ++step) {
    const std::int32_t error = wrapped(kOne - product16(x, y));
    y = wrapped(y + scaled16(product16(y, error), 2));
  }
  return y;
}

/// e^x for x in [-1/4, 0), in Q0.15: a polynomial around -1/8.
std::int32_t exp_of_little(std::int32_t x) {
  const std::int32_t of_centre = upper(1895147668);
  const std::int32_t a = wrapped(x + (1 << 12));
  const std::int32_t a2 = product16(a, a);
  const std::int32_t a3 = product16(a2, a);
  const std::int32_t a4 = shifted_right(product16(a2, a2), 2);
  const std::int32_t third = product16(wrapped(a4 + a3), upper(715827883));
  const std::int32_t higher = shifted_right(wrapped(third + a2), 1);
  return saturated16(of_centre + product16(of_centre, wrapped(a + higher)));
}

/// e^x for x <= 0; the result is in Q0.15.
std::int32_t exp_of_no_more_than_0(std::int32_t x, int integer_bits) {
  if (x == 0) {
    return kMost;
  }
  // e^-(2^k) for k = -2 .. 4.
  constexpr std::array<std::int32_t, 7> kFactors{1672461947, 1302514674, 790015084, 290630308,
                                                 39332535,   720401,     242};
  const int fractional_bits = 15 - integer_bits;
  const std::int32_t quarter = 1 << (fractional_bits - 2);
  const std::int32_t rest = (x & (quarter - 1)) - quarter;
  std::int32_t result = exp_of_little(scaled16(rest, integer_bits));
  const std::int32_t whole_quarters = rest - x;
  for (int k = -2; k < std::min(integer_bits, 5); ++k) {
    if ((whole_quarters & (1 << (fractional_bits + k))) != 0) {
      result = product16(result, upper(kFactors[static_cast<std::size_t>(k + 2)]));
    }
  }
  constexpr int kFarBits = 5;  // e^-32 is nothing
  return integer_bits > kFarBits && x < -(1 << (fractional_bits + kFarBits)) ? 0 : result;
}

std::int32_t minus_magnitude(std::int32_t x) {
  return x > 0 ? -x : x;
}

}  // namespace

std::int16_t sigmoid_of_gate(std::int16_t x) {
  if (x == 0) {
    return 1 << 14;
  }
  constexpr int kIntegerBits = 3;
  const std::int32_t e = exp_of_no_more_than_0(minus_magnitude(x), kIntegerBits);
  const std::int32_t y = scaled16(reciprocal_of_half_of_one_plus(e), 1);
  return static_cast<std::int16_t>(x > 0 ? y : kMost - y);
}

/// (1 - e^-2x) / (1 + e^-2x); 2x is x with one more bit in front of the point.
std::int16_t tanh_of_gate(std::int16_t x, int integer_bits) {
  if (x == 0) {
    return 0;
  }
  const std::int32_t e = exp_of_no_more_than_0(minus_magnitude(x), integer_bits + 1);
  const std::int32_t y = scaled16(wrapped(reciprocal_of_half_of_one_plus(e) - (1 << 13)), 2);
  return static_cast<std::int16_t>(x > 0 ? y : -y);
}

}  // namespace tare::tflite
