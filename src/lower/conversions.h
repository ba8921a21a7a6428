#pragma once

#include "tare/graph.h"

#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// Between real and storage values, or two kinds of storage values.
inline bool is_conversion(const Node& node) {
  return node.op == "Quantize" || node.op == "Dequantize" || node.op == "Requantize";
}

inline bool is_op(const Graph& graph, ValueId value, std::string_view op) {
  const auto producer = value ? graph.producer(value) : std::nullopt;
  return producer && graph.node(*producer).op == op;
}

/// Operand 0 of the node that computes `value`.
inline ValueId operand_of(const Graph& graph, ValueId value) {
  return graph.node(*graph.producer(value)).inputs[0];
}

/// Adds Quantize(expressed) : type; a constant is quantized at once.
ValueId add_quantize(Graph&, ValueId expressed, const TensorType& type,
                     const std::string& name);
/// Adds Dequantize(storage) : f32.
ValueId add_dequantize(Graph&, ValueId storage, const std::string& name);

/// Gives conversions the names of their results.
void name_conversions(Graph&);

/// A node with the name and the one result of `before`, in its place. Absent operands at the
/// end are left out.
void replace_node(Graph&, const Node& before, const std::string& op,
                  std::vector<ValueId> operands, Attributes);

}  // namespace tare
