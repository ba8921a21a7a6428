#pragma once

#include "tare/quant_table.h"
#include "tare/simulate.h"

#include "search/sensitivities.h"

#include <set>
#include <string>
#include <vector>

namespace tare {

/// Activations of 8 bits to be given 16, for a target that runs no operator in float: those
/// that lower the error most for the time they take, until the rest is no worse than the
/// rounded weights, or no more of them fit into `slowdown` (0.1: 10 %) of the time of the whole
/// network. An operator that reads or computes a value of 16 bits is taken to need twice the
/// time; the time of a product is its multiplications, that of others their results. Values
/// that share parameters are widened together.
///
/// `candidates` are the points that may be widened; `errors` are those of activations and
/// weights.
std::set<std::string> wide_activations(const SimulatedGraph&,
                                       const std::set<std::string>& candidates,
                                       const Sensitivities& errors, double slowdown);

/// Plans of more and more slowdown, for which wide_activations() leave less and less error,
/// beginning with 8 bits for all. Times count multiplications and elements, as above; all
/// multiplications are on integers.
std::vector<MixedPrecisionPlan> wide_activation_plans(const SimulatedGraph&,
                                                      const std::set<std::string>& candidates,
                                                      const Sensitivities& errors);

}  // namespace tare
