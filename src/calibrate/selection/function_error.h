#pragma once

#include "tare/calibrator.h"

#include "calibrate/selection/tabulated_function.h"

#include <vector>

namespace tare {

/// The expected error of what a function makes of values that are fake-quantized, given their
/// statistics: as ExpectedError, and the function is linear within a bin. What saturates is off
/// by what the function makes of the end of the range in its place.
class FunctionError {
 public:
  FunctionError(const TensorStatistics&, TabulatedFunction);

  /// The sum of the squared errors of all results; parameters per tensor.
  double sum_of_squares(const QuantParams&) const;
  /// The sum of the squares of what the function makes of values that are not 0.
  double power() const;

 private:
  struct Place {
    HistogramSegment values;
    double result = 0;  ///< of their middle
    double weight = 0;  ///< of a squared error of theirs: density and squared slope
  };

  TabulatedFunction function_;
  std::vector<Place> places_;
};

}  // namespace tare
