#pragma once

#include "tare/graph.h"

#include <string>

namespace tare {

/// The operator of what computes the value; empty of inputs.
std::string producer_op(const Graph&, ValueId);

/// The operator of that type, if it alone computes the value and the value is read once. Null
/// otherwise; a pointer until the graph changes.
const Node* lone_producer(const Graph&, ValueId, const char* op);

/// Whether a Gemm or MatMul of values behind DequantizeLinear computes it, and it is read once.
bool is_product_of_quantized(const Graph&, ValueId);

/// Puts `by` in the place of a node's only result. It gets its name, and what computes it that
/// of the node.
void replace(Graph&, NodeId, ValueId by);

}  // namespace tare
