#pragma once

#include "tare/graph.h"

#include "onnx/infer_graph.h"

#include <set>

namespace tare {

/// Values that are computed from shapes.
std::set<ValueId> computed_from_shapes(const Graph&);

/// Says extents by those of inputs where both are equal for two choices of shapes, so that
/// values inside of the graph are not read for their shapes alone, which would keep them from
/// being fused or quantized.
void say_extents_by_inputs(Graph&, const InferredValues& here, const InferredValues& there);

}  // namespace tare
