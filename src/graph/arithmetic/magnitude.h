#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace tare {

/// The largest magnitude of some numbers, NaN where one of them is. By the bits, which order
/// magnitudes as integers do, since compilers vectorize a maximum of integers.
inline float largest_magnitude(std::span<const float> numbers) {
  std::uint32_t largest = 0;
  for (const float number : numbers) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(number) & 0x7FFFFFFFU);
  }
  return std::bit_cast<float>(largest);
}

inline bool is_finite_throughout(std::span<const float> numbers) {
  return std::isfinite(largest_magnitude(numbers));
}

}  // namespace tare
