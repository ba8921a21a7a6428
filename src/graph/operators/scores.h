#pragma once

#include "tare/node.h"

namespace tare {

/// The network up to the scores of which it computes probabilities. By these two versions of it
/// are told apart: probabilities are nearly the same whatever happens, but for the few samples
/// that the network is unsure of.
Graph up_to_scores(Graph);

/// Scores to which a mask may have been added: what an Add or a Where computes and, moved or
/// not, nothing reads but Softmax.
bool is_masked_score(const Graph&, ValueId);

}  // namespace tare
