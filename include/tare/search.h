#pragma once

#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/simulate.h"

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>

namespace tare {

/// What each of some activations and weights does to the results of the network while nothing
/// else is quantized, on `samples` samples spread over the data: the squared error over the
/// squared magnitude. The errors of several add up, nearly.
std::map<std::string, double> point_errors(const SimulatedGraph&, const QuantTable&,
                                           const std::set<std::string>& points, const Dataset&,
                                           const CalibrateOptions&, std::size_t samples);

/// Points of regions each of which the target can leave in float for at most `slowdown` (0.03:
/// 3
/// %) of the time that it takes for the whole where nothing else counts. None where the
/// objective is not latency.
std::set<std::string> affordable_points(const SimulatedGraph&, const Config&,
                                        std::span<const QuantPattern>, double slowdown);

/// Nodes of simulated.source to leave in float so that the errors of the points that are left
/// are least, of all ways to share the graph out that are that slow at most, or nearly.
std::set<std::string> nodes_for_accuracy(const SimulatedGraph&, const Config&,
                                         std::span<const QuantPattern>,
                                         const std::map<std::string, double>& point_errors,
                                         double slowdown);

}  // namespace tare
