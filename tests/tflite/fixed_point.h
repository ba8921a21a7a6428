#pragma once

#include <cmath>
#include <cstdint>

namespace tare::test {

/// The fixed point of the kernels, written as they define it: a factor of 31 bits, the doubled
/// high half of a product to nearest, then a shift to nearest with halves away from zero.
inline std::int64_t fixed_point(std::int64_t value, double factor) {
  int exponent = 0;
  auto significand =
      static_cast<std::int64_t>(std::round(std::frexp(factor, &exponent) * 2147483648.0));
  if (significand == 2147483648) {
    significand /= 2;
    ++exponent;
  }
  if (exponent > 0) {
    value <<= exponent;
  }
  const auto high = static_cast<std::int64_t>(
      std::floor((static_cast<long double>(value) * static_cast<long double>(significand) +
                  1073741824.0L) /
                 2147483648.0L));
  return exponent > 0 ? high : std::llround(std::ldexp(static_cast<double>(high), exponent));
}

}  // namespace tare::test
