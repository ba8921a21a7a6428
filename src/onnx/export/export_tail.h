#pragma once

#include "tare/graph.h"

#include "onnx/export/export_node.h"

namespace tare {

/// The opset that the operators of a tail need, 0 where any will do.
int oldest_opset(const Tail&);

/// Appends the tail of a graph to a model of that opset, which has the graph already, and makes
/// the outputs those of the whole.
void add_tail(const Graph&, int opset, onnx::ModelProto&);

/// Whether a value of the graph has the name of an output of its tail.
bool has_names_of_tail(const Graph&);
/// The same graph where no value has the name of an output of its tail.
Graph with_names_for_tail(Graph);

}  // namespace tare
