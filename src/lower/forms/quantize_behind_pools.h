#pragma once

#include "tare/node.h"

namespace tare {

struct Target;

/// A graph of to_qdq() in which no MaxPool of what the target computes in float rounds its
/// operand, if its result is rounded alike. It computes the same.
Graph quantize_behind_pools(Graph qdq, const Target&);

}  // namespace tare
