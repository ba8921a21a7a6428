#pragma once

#include "tare/dataset.h"
#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "calibrate/selection/trial.h"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace tare {

/// By name of the point.
using Sensitivities = std::map<std::string, double>;

/// Sensitivities that an earlier search measured, and who is told of more.
struct MeasuredSensitivities {
  Sensitivities known{};
  /// Called with all that are known each time that there are more; may be empty. What it throws
  /// ends the work.
  std::function<void(const Sensitivities&)> more{};
};

/// The sensitivity of the network's results to each of some activations and weights, quantized
/// while nothing else is, on `samples` samples spread over the data: the squared error over the
/// squared magnitude. The errors of several add up, nearly. (As for layers in Wu et al.,
/// Integer Quantization for Deep Learning Inference: Principles and Empirical Evaluation,
/// 2020.) Takes `samples` runs for each point; of more than 480 neighbours are measured
/// together, in 192 trials.
Sensitivities sensitivities(const SimulatedGraph&, const QuantTable&,
                            const std::set<std::string>& points, const Dataset&,
                            const CalibrateOptions&, std::size_t samples,
                            const MeasuredSensitivities& = {});

/// The same of all points that have parameters, quantized together, for the mean of the
/// real results, on the runs of a trial of that network.
double error_together(const SimulatedGraph&, const QuantTable&, const Trial&);

}  // namespace tare
