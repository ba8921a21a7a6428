#pragma once

#include "calibrate/rounding/accumulators.h"

namespace tare {

/// Gives the points of each list of SimulatedGraph::unified parameters for all their ranges,
/// and derives the accumulators again where that changed something.
void unify_activations(const SimulatedGraph&, const InputMeans&, QuantTable&);

}  // namespace tare
