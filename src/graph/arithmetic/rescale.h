#pragma once

#include "tare/arithmetic.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tare {

inline std::int32_t saturated(std::int64_t value) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(value, kLow, kHigh));
}

/// round(value * 2^left), saturated; for left >= 0.
inline std::int32_t shifted_left(std::int64_t value, int left) {
  // Beyond 31 places everything but 0 saturates, and up to there nothing leaves int64.
  return saturated(value * (std::int64_t{1} << std::min(left, 31)));
}

/// One product, one rounding.
template <bool kAwayFromZero>
std::int32_t rescale_once(std::int32_t value, FixedPointFactor factor) {
  const std::int64_t product = std::int64_t{value} * factor.significand;
  const int right = 31 - factor.exponent;
  if (right <= 0) {
    // The factor is at least 2^30: only the last bit can be inside int32.
    return right == 0 ? saturated(product) : shifted_left(saturated(product), -right);
  }
  if (right > 62) {
    return 0;  // less than a half
  }
  const std::int64_t half = std::int64_t{1} << (right - 1);
  const bool down = kAwayFromZero && product < 0;
  return saturated((product + (down ? half - 1 : half)) >> right);
}

__extension__ using Int128 = __int128;

/// The same for sums of 64 bits.
template <bool kAwayFromZero>
std::int32_t rescale_once(std::int64_t value, FixedPointFactor factor) {
  constexpr int kMost = 94;  // bits of a product
  const int right = 31 - factor.exponent;
  if (right <= 0 || value == static_cast<std::int32_t>(value)) {
    return rescale_once<kAwayFromZero>(saturated(value), factor);
  }
  if (right > kMost) {
    return 0;
  }
  const Int128 product = Int128{value} * factor.significand;
  const Int128 half = Int128{1} << (right - 1);
  const bool down = kAwayFromZero && product < 0;
  const Int128 rounded = (product + (down ? half - 1 : half)) >> right;
  constexpr Int128 kLow = std::numeric_limits<std::int64_t>::min();
  constexpr Int128 kHigh = std::numeric_limits<std::int64_t>::max();
  return saturated(static_cast<std::int64_t>(std::clamp(rounded, kLow, kHigh)));
}

/// The high half of 2 * a * b, halves up. (SaturatingRoundingDoublingHighMul of gemmlowp.)
inline std::int32_t doubled_high_product(std::int32_t a, std::int32_t b) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 30;
  const std::int64_t product = std::int64_t{a} * b;
  return saturated((product + (product >= 0 ? kHalf : 1 - kHalf)) / (2 * kHalf));
}

/// value / 2^right, halves away from zero; 0 <= right <= 62. (RoundingDivideByPOT of gemmlowp.)
inline std::int32_t shifted_right(std::int32_t value, int right) {
  const std::int64_t wide = value;
  const std::int64_t mask = (std::int64_t{1} << right) - 1;
  const std::int64_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return static_cast<std::int32_t>((wide >> right) + ((wide & mask) > threshold ? 1 : 0));
}

/// The high half of the doubled product, then a shift to the right; both round.
inline std::int32_t rescale_twice(std::int32_t value, FixedPointFactor factor) {
  if (factor.exponent < -31) {
    return 0;
  }
  const std::int32_t left = shifted_left(value, std::max(factor.exponent, 0));
  return shifted_right(doubled_high_product(left, factor.significand),
                       std::max(-factor.exponent, 0));
}

}  // namespace tare
