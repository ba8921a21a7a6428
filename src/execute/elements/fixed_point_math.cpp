// Elementary functions in fixed point, with the constants and roundings of gemmlowp's
// fixedpoint.h (Jacob and Warden, "gemmlowp: a small self-contained low-precision GEMM
// library") and, for the inverse square root, of TensorFlow Lite's
// GetInvSqrtQuantizedMultiplierExp. Results have to be theirs bit for bit, so none of this is
// ours to improve.
//
// For e^x, x is split into powers of two, whose exponentials are constants, and a rest in
// [-1/4, 0), which a Taylor polynomial of degree 4 around -1/8 serves. 1 / x takes three steps
// of Newton from the best linear start, 48/17 - 32/17 x. 1 / sqrt(x) takes five, on a number
// that powers of four bring into [1/4, 1).
#include "execute/elements/fixed_point_math.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace tare {
namespace {

constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();

/// value * 2^places, saturated; rounded where places is negative.
std::int32_t scaled(std::int32_t value, int places) {
  return places >= 0 ? shifted_left(value, places) : shifted_right(value, -places);
}

std::int32_t product(std::int32_t a, std::int32_t b) {
  return doubled_high_product(a, b);
}

/// (a + 1) / 2 in Q0.31, halves away from zero.
std::int32_t half_of_one_plus(std::int32_t a) {
  const std::int64_t sum = std::int64_t{a} + kMost;
  return static_cast<std::int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
}

/// 1 / x for x in [1/2, 1] in Q0.31 by three steps of Newton; the result is in Q2.29.
std::int32_t reciprocal(std::int32_t x) {
  constexpr std::int32_t k48Over17 = 1515870810;
  constexpr std::int32_t kMinus32Over17 = -1010580540;
  constexpr std::int32_t kOne = 1 << 29;
  std::int32_t y = k48Over17 + product(x, kMinus32Over17);
  for (int step = 0; step < 3; ++step) {
    const std::int32_t error = kOne - product(x, y);
    y = saturated(std::int64_t{y} + scaled(product(y, error), 2));
  }
  return y;
}

/// e^x for x in [-1/4, 0), in Q0.31: a polynomial around -1/8.
std::int32_t exp_of_small(std::int32_t x) {
  constexpr std::int32_t kExpOfMinusEighth = 1895147668;
  constexpr std::int32_t kThird = 715827883;
  const std::int32_t a = x + (1 << 28);
  const std::int32_t a2 = product(a, a);
  const std::int32_t a3 = product(a2, a);
  const std::int32_t a4 = product(a2, a2);
  const std::int32_t higher = shifted_right(product(shifted_right(a4, 2) + a3, kThird) + a2, 1);
  return saturated(std::int64_t{kExpOfMinusEighth} + product(kExpOfMinusEighth, a + higher));
}

}  // namespace

std::int32_t exp_of_negative(std::int32_t x, int integer_bits) {
  if (x == 0) {
    return kMost;
  }
  // e^-(2^k) for k = -2 .. 4, in Q0.31.
  constexpr std::array<std::int32_t, 7> kFactors{1672461947, 1302514674, 790015084, 290630308,
                                                 39332535,   720401,     242};
  const int fractional_bits = 31 - integer_bits;
  const std::int32_t quarter = 1 << (fractional_bits - 2);
  const std::int32_t rest = (x & (quarter - 1)) - quarter;
  std::int32_t result = exp_of_small(scaled(rest, integer_bits));
  const std::int32_t whole_quarters = rest - x;
  for (int k = -2; k < std::min(integer_bits, 5); ++k) {
    if ((whole_quarters & (1 << (fractional_bits + k))) != 0) {
      result = product(result, kFactors[static_cast<std::size_t>(k + 2)]);
    }
  }
  return result;
}

std::int32_t one_over_one_plus(std::int32_t x) {
  return scaled(reciprocal(half_of_one_plus(x)), 1);
}

std::int32_t logistic_q4(std::int32_t x) {
  if (x == 0) {
    return 1 << 30;
  }
  const std::int32_t of_magnitude = one_over_one_plus(exp_of_negative(x > 0 ? -x : x, 4));
  return x > 0 ? of_magnitude : kMost - of_magnitude;
}

/// (1 - e^-2x) / (1 + e^-2x); 2x in Q4.27 is x read as Q5.26.
std::int32_t tanh_q4(std::int32_t x) {
  if (x == 0) {
    return 0;
  }
  const std::int32_t e = exp_of_negative(x > 0 ? -x : x, 5);
  const std::int32_t y = reciprocal(half_of_one_plus(e));
  const std::int32_t of_magnitude = scaled(y - (1 << 29), 2);
  return x > 0 ? of_magnitude : -of_magnitude;
}

FixedPointFactor inverse_square_root(std::int32_t x) {
  if (x <= 1) {
    return {kMost, 0};
  }
  // In Q3.28, between 1/4 and 1, times an even power of two.
  constexpr std::int32_t kOne = 1 << 28;
  constexpr std::int32_t kThreeHalves = kOne + kOne / 2;
  constexpr std::int32_t kRootOfHalf = 1518500250;  // in Q0.31
  int right = 11;
  for (; x >= 1 << 29; x /= 4) {
    ++right;
  }
  const int headroom = std::countl_zero(static_cast<std::uint32_t>(x)) - 1;
  const int pairs = headroom / 2 - 1;
  right -= pairs;
  x <<= 2 * pairs;
  const std::int32_t half = shifted_right(x >> 1, 1);
  std::int32_t y = kOne;
  for (int step = 0; step < 5; ++step) {
    const std::int32_t cube = scaled(product(product(y, y), y), 6);
    y = scaled(product(kThreeHalves, y) - product(half, cube), 3);
  }
  return {product(y, kRootOfHalf), -right};
}

}  // namespace tare
