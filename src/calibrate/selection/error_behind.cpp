#include "calibrate/selection/error_behind.h"

#include "calibrate/selection/function_error.h"

#include <memory>
#include <utility>

namespace tare {
namespace {

ErrorBehind error_of_visible(const TensorStatistics& visible) {
  double power = 0;
  for (const HistogramSegment& values : histogram_segments(visible)) {
    power += static_cast<double>(values.count) * values.middle() * values.middle();
  }
  return {
      .sum_of_squares = [error = ExpectedError(visible)](
                            const QuantParams& params) { return error.sum_of_squares(params); },
      .power = power};
}

}  // namespace

std::optional<ErrorBehind> error_behind(const Graph& graph, ValueId value,
                                        const TensorStatistics& observed,
                                        const TensorStatistics& visible) {
  if (visible.has_bins()) {
    return error_of_visible(visible);
  }
  if (!observed.has_bins()) {
    return std::nullopt;
  }
  auto function = tabulated_activation(graph, value, range_with_zero(observed));
  if (!function) {
    return std::nullopt;
  }
  // Functions can be copied, and this holds all bins.
  const auto error = std::make_shared<const FunctionError>(observed, *std::move(function));
  return ErrorBehind{
      .sum_of_squares =
          [error](const QuantParams& params) { return error->sum_of_squares(params); },
      .power = error->power()};
}

}  // namespace tare
