#pragma once

#include "tare/config.h"
#include "tare/node.h"

namespace tare {

/// What a target says of running that node on integers; null when it says nothing.
const TargetOperator* find_operator(const Target&, const Graph&, const Node&);
/// What it says of that node's costs; null when it says nothing.
const TargetOperator* find_costs(const Target&, const Graph&, const Node&);

/// What it says of the accumulator of that node in particular.
AccumulatorConfig operator_accumulator(const Target&, const Graph&, const Node&);

/// Whether the target is taken to have a kernel of 8 and one of 16 bits for each operator, and
/// none that mixes them.
bool has_wide_kernels(const Target&);

}  // namespace tare
