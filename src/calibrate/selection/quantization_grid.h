#pragma once

#include "tare/arithmetic.h"

#include <algorithm>
#include <cmath>

namespace tare {

/// The real values that storage values stand for, per tensor.
class QuantizationGrid {
 public:
  explicit QuantizationGrid(const QuantParams& params)
      : step_(static_cast<double>(params.scale[0])),
        low_(static_cast<double>(params.range().low - params.zero_point[0])),
        high_(static_cast<double>(params.range().high - params.zero_point[0])) {}

  double low() const { return step_ * low_; }
  double high() const { return step_ * high_; }

  /// The squared error of a value.
  double square(double x) const {
    const double off = x - step_ * nearest(x);
    return off * off;
  }
  /// The integral of the squared error from 0 to x.
  double integral(double x) const {
    const double n = nearest(x);
    const double off = x - step_ * n;
    return step_ * step_ * step_ / 12 * n + off * off * off / 3;
  }

 private:
  double nearest(double x) const { return std::clamp(std::nearbyint(x / step_), low_, high_); }

  double step_;
  double low_;
  double high_;
};

}  // namespace tare
