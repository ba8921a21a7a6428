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

/// An integer that the type holds; into 8 and 16 bits by way of int32, for which there are
/// vector instructions.
template <class Out>
Out narrowed(float q) {
  if constexpr (sizeof(Out) > 2) {
    return static_cast<Out>(q);
  } else {
    return static_cast<Out>(static_cast<std::int32_t>(q));
  }
}

/// y[i] = f(x[i]) over a tensor with extents `shape` in memory order, where f is of(channel of
/// i); without an axis the channel is 0. What f needs of the channel is to be in f itself:
/// bytes of y may lie anywhere for all that a compiler knows, and it would read it for each
/// element.
template <class In, class Out, class Of>
void map_channels(const Shape& shape, std::optional<std::size_t> axis, const In* x, Out* y,
                  Of of) {
  const auto map = [x, y](std::size_t first, std::size_t end, auto f) {
    for (std::size_t i = first; i < end; ++i) {
      y[i] = f(x[i]);
    }
  };
  const auto total = static_cast<std::size_t>(element_count(shape));
  if (!axis) {
    map(0, total, of(std::size_t{0}));
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
        y[first + channel] = of(channel)(x[first + channel]);
      }
      continue;
    }
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const std::size_t row = first + channel * inner;
      map(row, row + inner, of(channel));
    }
  }
}

}  // namespace tare
