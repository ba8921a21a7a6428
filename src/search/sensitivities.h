#pragma once

#include "tare/dataset.h"
#include "tare/quant_table.h"
#include "tare/search.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include <cstddef>
#include <set>
#include <string>

namespace tare {

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

}  // namespace tare
