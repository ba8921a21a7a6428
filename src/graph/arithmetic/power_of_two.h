#pragma once

#include <cmath>

namespace tare {

/// The least power of two that is not below `x`, which is finite and positive.
inline double power_of_two_from(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

inline bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
}

}  // namespace tare
