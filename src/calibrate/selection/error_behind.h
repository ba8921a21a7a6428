#pragma once

#include "tare/calibrator.h"
#include "tare/graph.h"

#include <functional>
#include <optional>

namespace tare {

/// The error of what the network makes of a value behind the point where it is rounded.
struct ErrorBehind {
  std::function<double(const QuantParams&)> sum_of_squares;  ///< expected; per tensor
  double power = 0;  ///< sum of the squares of what has the error
};

/// That of what a Relu behind a sum shows (rectified_sum.h), where that was observed; else that
/// of the results of the activation function behind the value. Nothing where neither hides
/// errors of the value.
std::optional<ErrorBehind> error_behind(const Graph&, ValueId, const TensorStatistics& observed,
                                        const TensorStatistics& visible);

}  // namespace tare
