#pragma once

#include "tare/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tare {

/// A factor between scales, whose quotient may be infinite. From far less on all storage values
/// but the zero point saturate, and that needs a product with 0 to be 0.
template <class Real>
Real finite_factor(Real factor) {
  return std::min(factor, static_cast<Real>(0x1p100));
}

/// What a step of one scale is in steps of another, for Requantize.
inline double scale_ratio(float from, float to) {
  return static_cast<double>(from) / static_cast<double>(to);
}

/// The ratio as Requantize multiplies with it in float32.
inline float float_factor(double ratio) {
  return finite_factor(static_cast<float>(ratio));
}

/// round(x), halves away from zero. Far beyond int32 it is only as large; NaN gives 0.
inline std::int64_t rounded(float x) {
  constexpr float kFar = 0x1p40F;
  return x == x ? std::llround(std::clamp(x, -kFar, kFar)) : 0;
}

/// clip(round_half_even(x) + zero), x already divided by the scale; NaN gives `zero`. The
/// limits are those of an 8- or 16-bit storage type, exact in float.
inline float storage_value(float x, float zero, float low, float high) {
  // rint follows the current mode, which is half to even, and unlike nearbyint it is one
  // instruction, as each of the other lines is in vector code. NaN becomes zero.
  const float steps = std::rint(x);
  const float q = (steps == steps ? steps : 0) + zero;
  const float raised = q < low ? low : q;
  return high < raised ? high : raised;
}

/// y[i] = f(x[i], channel of i) over a tensor with extents `shape` in memory order. Without an
/// axis the channel is 0.
template <class In, class Out, class F>
void map_channels(const Shape& shape, std::optional<std::size_t> axis, const In* x, Out* y,
                  F f) {
  const auto total = static_cast<std::size_t>(element_count(shape));
  if (!axis) {
    for (std::size_t i = 0; i < total; ++i) {
      y[i] = f(x[i], std::size_t{0});
    }
    return;
  }
  const auto channels = static_cast<std::size_t>(shape[*axis]);
  std::size_t inner = 1;
  for (std::size_t i = *axis + 1; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  for (std::size_t first = 0; first < total; first += channels * inner) {
    if (inner == 1) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        y[first + channel] = f(x[first + channel], channel);
      }
      continue;
    }
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const std::size_t row = first + channel * inner;
      for (std::size_t i = row; i < row + inner; ++i) {
        y[i] = f(x[i], channel);
      }
    }
  }
}

}  // namespace tare
