// Engines merge a Relu or Clip with the product before it, but not through a conversion.
// Rounding keeps order, so Relu(round(x)) is round(Relu(x)) where both have the same
// parameters, and the activation may as well stand before.

#include "tare/graph.h"

#include "lower/forms/engine_wishes.h"

#include <algorithm>

namespace tare {
namespace {

/// The node that alone reads a value, or null.
const Node* only_reader(const Graph& graph, ValueId value) {
  return graph.single_use(value) ? &graph.node(graph.users(value)[0]) : nullptr;
}

bool is_conversion(const Node* node, const char* op, const Node& like) {
  return node != nullptr && node->op == op && node->attributes == like.attributes &&
         std::equal(node->inputs.begin() + 1, node->inputs.end(), like.inputs.begin() + 1,
                    like.inputs.end());
}

/// The Relu or Clip that alone reads what `quantize` rounded, and is rounded the same way.
std::optional<NodeId> activation_after(const Graph& graph, const Node& quantize) {
  const Node* dequantize = only_reader(graph, quantize.outputs[0]);
  if (!is_conversion(dequantize, "DequantizeLinear", quantize)) {
    return std::nullopt;
  }
  const Node* activation = only_reader(graph, dequantize->outputs[0]);
  if (activation == nullptr || (activation->op != "Relu" && activation->op != "Clip") ||
      activation->inputs[0] != dequantize->outputs[0] ||
      !is_conversion(only_reader(graph, activation->outputs[0]), "QuantizeLinear", quantize)) {
    return std::nullopt;
  }
  return graph.find_node(activation->name);
}

}  // namespace

Graph merge_activations(Graph qdq) {
  for (const NodeId id : qdq.topological_order()) {
    const Node node = qdq.node(id);
    if (node.op != "QuantizeLinear") {
      continue;
    }
    if (const auto activation = activation_after(qdq, node)) {
      qdq.set_input(*activation, 0, node.inputs[0]);
    }
  }
  qdq.erase_unused();
  return qdq;
}

}  // namespace tare
