#pragma once

#include "tare/node.h"

#include <string>
#include <string_view>

namespace tare {

/// What stands for a value X of the float network is named after it:
///   X_quantized    its storage values
///   X_accumulated  the sum of products that X is, in integers
///   X_dequantized  what the storage values express
/// and its parameters X_scale and X_zero_point. Nodes have the name of the operator that they
/// stand for, conversions that of their result.
std::string quantized_name(std::string_view original);
std::string accumulated_name(std::string_view original);
std::string dequantized_name(std::string_view original);

/// The name of the original value: without one ending of those above, or of those that ONNX
/// Runtime's quantizer gives to storage values.
std::string original_name(std::string_view derived);
/// The same of a value of a graph, whose inputs and outputs have their own names.
std::string original_name(const Graph&, ValueId);

/// Whoever has the name gets another one; names of graph outputs stay.
void take_name(Graph&, ValueId, std::string name);

/// Erases `before`, which nothing reads any more; `after` takes over its name.
void take_place(Graph&, NodeId before, NodeId after);

}  // namespace tare
