#pragma once

#include "execute/elements/fixed_point.h"
#include "execute/elements/row_reduce.h"

#include <cstddef>
#include <cstdint>

namespace tare {

/// The parameters that DynamicQuantizeLinear of ONNX finds for some values: 256 steps from the
/// least to the largest of them, widened to hold 0, which stays exact.
class DynamicRange {
 public:
  DynamicRange(const float* values, std::size_t count) {
    const auto smaller = [](float a, float v) { return v < a ? v : a; };
    const auto larger = [](float a, float v) { return v > a ? v : a; };
    const float low = reduce_row(values, count, 0.0F, smaller, smaller);
    const float high = reduce_row(values, count, 0.0F, larger, larger);
    scale_ = high > low ? (high - low) / 255.0F : 1.0F;
    zero_ = round_to_storage<std::uint8_t>(-low / scale_, 0);
  }

  float scale() const { return scale_; }
  std::uint8_t zero() const { return zero_; }

  std::uint8_t storage(float x) const {
    return round_to_storage<std::uint8_t>(x / scale_, zero_);
  }
  float real(std::uint8_t storage) const {
    return static_cast<float>(static_cast<int>(storage) - static_cast<int>(zero_)) * scale_;
  }

 private:
  float scale_ = 1;
  std::uint8_t zero_ = 0;
};

}  // namespace tare
