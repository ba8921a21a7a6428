#pragma once

#include "tare/calibrator.h"
#include "tare/quant_params.h"

#include <cstddef>
#include <vector>

namespace tare {

/// The expected error of fake-quantizing values, given their statistics, whose bins are taken
/// as evenly spread: rounding where they are inside of the range, saturation where they are
/// not. The calibrator `mse` minimizes it (Nagel et al., A White Paper on Neural Network
/// Quantization, 2021, section 3.1). Each evaluation takes a step for each edge of a filled
/// bin.
class ExpectedError {
 public:
  explicit ExpectedError(const TensorStatistics&);

  /// The sum of the squared errors of all values; parameters per tensor.
  double sum_of_squares(const QuantParams&) const;

 private:
  struct Place {
    double x = 0;
    double weight = 0;  ///< density below it less density above, or number of values
  };

  void change(double x, double weight);

  // A density that is constant between places and changes at them, and equal values.
  std::vector<Place> places_;
  std::vector<Place> points_;
};

}  // namespace tare
