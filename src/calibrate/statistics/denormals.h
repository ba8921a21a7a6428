#pragma once

#include "tare/graph.h"
#include "tare/node.h"
#include "tare/quant_table.h"

#include <optional>

namespace tare {

/// Weights nearer to 0 than float's normal numbers: engines that count them take long.
std::optional<Warning> denormal_weights(const Graph&);

/// The graph with 0 in their place, which is what Tare's kernels take them for.
Graph without_denormal_weights(Graph);

}  // namespace tare
