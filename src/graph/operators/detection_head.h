#pragma once

#include "tare/node.h"

#include <set>

namespace tare {

/// The nodes at the end of a detector that decode boxes: those behind the last products that
/// compute what a Concat puts boxes and scores together from, that Concat, and what is computed
/// from it. Scores are results of Sigmoid or Softmax, from 0 to 1; boxes are not, and may be in
/// pixels. One scale for both leaves a handful of steps to the scores. Empty where nothing has
/// that form, and for networks that multiply by weights behind it.
std::set<NodeId> detection_head(const Graph&);

}  // namespace tare
