#pragma once

#include "execute/elements/dispatch.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tare {

using Storage8 = Types<std::uint8_t, std::int8_t>;
using Storage = Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t>;

/// clip(round_half_even(value) + zero); NaN gives the zero point.
template <class Q>
Q round_to_storage(float value, std::int32_t zero) {
  const float low = static_cast<float>(std::numeric_limits<Q>::min() - zero);
  const float high = static_cast<float>(std::numeric_limits<Q>::max() - zero);
  float rounded = std::nearbyint(value);
  rounded = rounded < low ? low : rounded;
  rounded = rounded > high ? high : rounded;
  return static_cast<Q>(static_cast<std::int32_t>(rounded == rounded ? rounded : 0.0F) + zero);
}

}  // namespace tare
