#pragma once

#include <cmath>
#include <limits>

namespace tare::test {

/// An exact sum of products in double, with what its float counterpart may be off by.
struct Sum {
  double value = 0;
  double magnitude = 0;
  int terms = 0;

  void add(double x, double w) {
    value += x * w;
    magnitude += std::abs(x * w);
    ++terms;
  }
  /// Any order of summation in float: each of the terms is rounded at most once per addition
  /// and once when multiplied.
  double bound() const {
    return (terms + 1) * magnitude * std::numeric_limits<float>::epsilon();
  }
};

}  // namespace tare::test
