#pragma once

#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/simulate.h"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
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

/// Points of regions each of which the target can run in float for at most `slowdown` (0.03: 3
/// %) of the time of the fastest plan. None where the objective is not latency.
std::set<std::string> affordable_points(const SimulatedGraph&, const Config&,
                                        std::span<const QuantPattern>, double slowdown);

/// A mixed-precision plan: which nodes of a network stay in float.
struct MixedPrecisionPlan {
  std::set<std::string> float_nodes;  ///< that would run on integers if time alone counted
  double nanoseconds = 0;             ///< as in Assignment
  double error = 0;                   ///< the sum of those of the points that are quantized
  double integer_share = 0;           ///< of the multiplications

  friend bool operator==(const MixedPrecisionPlan&, const MixedPrecisionPlan&) = default;
};

/// The convex Pareto front of time and error, the fastest plan first: each next one is slower
/// and has less error, and no plan lies below the line between two of them. At most `slowdown`
/// slower than the first. Only that one where the objective is not latency. Of simulated.source
/// with the errors of its points. Each is a minimum cut at some price of errors, and prices are
/// found as in Aneja and Nair, Bicriteria Transportation Problem, 1979: about two cuts a plan.
std::vector<MixedPrecisionPlan> pareto_plans(const SimulatedGraph&, const Config&,
                                             std::span<const QuantPattern>,
                                             const Sensitivities&, double slowdown);

/// The plan of least error within that slowdown: the last vertex of that front, and then
/// greedily one point after the other, or all of one region, left in float while that fits,
/// each time the one that lowers the error most. Vertices lie apart, and time would stay
/// unspent.
MixedPrecisionPlan best_plan_within(const SimulatedGraph&, const Config&,
                                    std::span<const QuantPattern>, const Sensitivities&,
                                    double slowdown);

}  // namespace tare
