#pragma once

#include "tare/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tare::test {

/// Of a tensor with one scale and zero point.
inline QuantParams params(DType storage, float scale, std::int32_t zero) {
  return {.storage = storage,
          .scale = {scale},
          .zero_point = {zero},
          .axis = {},
          .narrow_range = false};
}

inline QuantParams i8(float scale, std::int32_t zero) {
  return params(DType::kInt8, scale, zero);
}

inline QuantParams u8(float scale, std::int32_t zero) {
  return params(DType::kUint8, scale, zero);
}

inline QuantParams per_axis(DType storage, int axis, std::vector<float> scale,
                            std::vector<std::int32_t> zero) {
  return {.storage = storage,
          .scale = std::move(scale),
          .zero_point = std::move(zero),
          .axis = axis,
          .narrow_range = false};
}

inline bool are_powers_of_two(std::span<const float> scales) {
  return std::all_of(scales.begin(), scales.end(), [](float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F;
  });
}

}  // namespace tare::test
