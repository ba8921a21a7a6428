// Where values are rounded, an error of x is one of f'(x) times that. So what quantization does
// where f is flat, as SiLU below -5 or a sigmoid beyond 6, costs next to nothing, and the range
// need not reach there.
#include "calibrate/selection/function_error.h"

#include "calibrate/selection/quantization_grid.h"

#include <utility>

namespace tare {

FunctionError::FunctionError(const TensorStatistics& observed, TabulatedFunction function)
    : function_(std::move(function)) {
  for (const HistogramSegment& values : histogram_segments(observed)) {
    const auto count = static_cast<double>(values.count);
    const double slope = function_.slope(values.middle());
    const double density = values.width() > 0 ? count / values.width() : count;
    places_.push_back({values, function_(values.middle()), density * slope * slope});
  }
}

double FunctionError::sum_of_squares(const QuantParams& params) const {
  const QuantizationGrid grid(params);
  const double at_low = function_(grid.low());
  const double at_high = function_(grid.high());
  double result = 0;
  for (const Place& place : places_) {
    const HistogramSegment& values = place.values;
    const double middle = values.middle();
    if (middle < grid.low() || middle > grid.high()) {
      const double off = (middle < grid.low() ? at_low : at_high) - place.result;
      result += static_cast<double>(values.count) * off * off;
    } else if (values.width() == 0) {
      result += place.weight * grid.square(middle);
    } else {
      result += place.weight * (grid.integral(values.to) - grid.integral(values.from));
    }
  }
  return result;
}

double FunctionError::power() const {
  double result = 0;
  for (const Place& place : places_) {
    result += static_cast<double>(place.values.count) * place.result * place.result;
  }
  return result;
}

}  // namespace tare
