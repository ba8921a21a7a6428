#pragma once

#include "tare/arithmetic.h"
#include "tare/graph.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace tare {

/// A function of one number, known at equal distances and linear between them.
class TabulatedFunction {
 public:
  /// Results at `places.size() - 1` steps from `range.low` to `range.high`, which is wider than
  /// 0; two places at least.
  TabulatedFunction(const Range& range, std::vector<double> places);

  /// Beyond its ends it is constant.
  double operator()(double x) const;
  /// Between the places around x.
  double slope(double x) const;

 private:
  /// Of the place before x, and how far x is behind it, in steps.
  std::pair<std::size_t, double> place_of(double x) const;

  double low_;
  double step_;
  std::vector<double> places_;
};

/// The activation function behind a value (activation_function.h), within a range. Nothing
/// where there is none, or a table does not hold it, as that of a logarithm near 0.
std::optional<TabulatedFunction> tabulated_activation(const Graph&, ValueId, const Range&);

}  // namespace tare
