#pragma once

#include "tare/graph.h"

namespace tare {

/// The network up to the scores of which it computes probabilities. By these two versions of it
/// are told apart: probabilities are nearly the same whatever happens, but for the few samples
/// that the network is unsure of.
Graph up_to_scores(Graph);

}  // namespace tare
