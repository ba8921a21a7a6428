#pragma once

#include "tare/config.h"
#include "tare/quant_table.h"

#include "search/sensitivities.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

struct MixedPrecisionPlan;
struct QuantPattern;

/// Points of regions each of which the target can run in float for at most `slowdown` (0.03: 3
/// %) of the time of the fastest plan. None where the objective is not latency.
std::set<std::string> affordable_points(const SimulatedGraph&, const Config&,
                                        std::span<const QuantPattern>, double slowdown);

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
