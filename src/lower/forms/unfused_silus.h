#pragma once

#include "tare/graph.h"

namespace tare {

/// A written graph in which a Sum of one operand lies between a Sigmoid and the product of it
/// with what it reads. ONNX Runtime would make one QuickGelu of the two, which in version 1.21
/// keeps convolutions from having the layout that they are fast in.
Graph with_unfused_silus(Graph onnx);

/// The same graph without these.
Graph read_unfused_silus(Graph);

/// Whether there is anything that with_unfused_silus() changes.
bool has_silus(const Graph& onnx);

}  // namespace tare
