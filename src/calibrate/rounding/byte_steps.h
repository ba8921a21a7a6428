#pragma once

#include "tare/arithmetic.h"

#include <algorithm>
#include <cmath>

namespace tare {

/// Real values in storage steps from the zero point, of 8 bits at most: finer storage does not
/// change how errors of the weights act.
class ByteSteps {
 public:
  /// With one scale for all.
  explicit ByteSteps(const QuantParams& params) : scale_(params.scale[0]) {
    const StorageRange range = params.range();
    const auto zero = static_cast<float>(params.zero_point[0]);
    low_ = static_cast<float>(range.low) - zero;
    high_ = static_cast<float>(range.high) - zero;
    coarser_ = std::max(1.0F, (high_ - low_) / 255);
    lowest_ = std::nearbyint(low_ / coarser_);
  }

  /// An integer, at most 255 above lowest().
  float of(float value) const {
    const float steps = std::clamp(std::nearbyint(value / scale_), low_, high_);
    // Both ends are halves where the range is narrowed, and would round away from each other.
    return std::min(std::nearbyint(steps / coarser_), lowest_ + 255);
  }
  float lowest() const { return lowest_; }
  /// A value that has so many.
  float value(float steps) const { return steps * coarser_ * scale_; }

 private:
  float scale_;
  float low_;
  float high_;
  float coarser_;
  float lowest_;
};

}  // namespace tare
