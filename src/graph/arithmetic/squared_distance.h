#pragma once

#include "tare/tensor.h"

namespace tare {

/// The sum of the squares of the differences of two f32 tensors of the same size.
inline double squared_distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  const auto x = a.view<float>();
  const auto y = b.view<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += off * off;
  }
  return sum;
}

}  // namespace tare
