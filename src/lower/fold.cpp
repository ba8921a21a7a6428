// Peephole rules on conversions that stand next to each other, repeated until none applies: a
// Dequantize before a Quantize becomes a Requantize or nothing, equal conversions of one value
// become one, and a Relu or Clip goes where the storage type saturates at the same values. One
// rule may make room for another, so the graph is swept until nothing changes; each sweep is
// linear in it.
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/ir/derived_names.h"
#include "lower/affine_rewrites.h"
#include "lower/conversions.h"
#include "lower/saturation.h"

#include <optional>

namespace tare {
namespace {

/// Whether one value can be read in the place of another. Results of the model keep their
/// names, so none is another one or an input.
bool can_stand_for(const Graph& graph, ValueId value, ValueId instead) {
  return !graph.is_output(value) || (!graph.is_output(instead) && !graph.is_input(instead));
}

std::optional<ValueId> equal_conversion(const Graph& graph, const Node& node) {
  for (const NodeId other_id : graph.users(node.inputs[0])) {
    const Node& other = graph.node(other_id);
    if (other.outputs[0] < node.outputs[0] && other.op == node.op &&
        graph.type(other.outputs[0]).quant == graph.type(node.outputs[0]).quant &&
        can_stand_for(graph, node.outputs[0], other.outputs[0])) {
      return other.outputs[0];
    }
  }
  return std::nullopt;
}

/// That of the node whose sum it is; other storage values are rescaled in the usual one.
const RequantizeMode& mode_of(const Graph& graph, ValueId storage,
                              const NetworkArithmetic& arithmetic) {
  auto producer = graph.producer(storage);
  while (producer && graph.node(*producer).op == "Add" &&
         graph.type(storage).dtype == DType::kInt32) {  // of a constant, to the sum before it
    storage = graph.node(*producer).inputs[0];
    producer = graph.producer(storage);
  }
  return (producer ? arithmetic.of(graph.node(*producer).name) : arithmetic.usual).requantize;
}

/// What the readers of the node's result may read instead. Where that says the same in another
/// way, it goes by the name of the result.
std::optional<ValueId> replacement(Graph& graph, const Node& node,
                                   const NetworkArithmetic& arithmetic) {
  const auto& params = graph.type(node.outputs[0]).quant;
  const std::string name = graph.name(node.outputs[0]);
  if (params && saturates_like(graph, node, *params) &&
      can_stand_for(graph, node.outputs[0], node.inputs[0])) {
    take_name(graph, node.inputs[0], name);
    return node.inputs[0];
  }
  if (node.op != "Quantize" && node.op != "Dequantize" && node.op != "Requantize") {
    return std::nullopt;
  }
  if (const auto same = equal_conversion(graph, node)) {
    return same;
  }
  if (node.op != "Quantize" || !is_op(graph, node.inputs[0], "Dequantize")) {
    return std::nullopt;
  }
  const ValueId storage = operand_of(graph, node.inputs[0]);
  const TensorType& type = graph.type(node.outputs[0]);
  if (graph.type(storage).quant == type.quant) {
    return can_stand_for(graph, node.outputs[0], storage) ? std::optional(storage)
                                                          : std::nullopt;
  }
  if (type.quant->per_axis() || graph.type(storage).quant->block != 0) {
    return std::nullopt;
  }
  const NodeId id =
      graph.add_node("", "Requantize", {storage}, {{graph.unique_name(name), type}},
                     to_attributes(mode_of(graph, storage, arithmetic)));
  const ValueId requantized = graph.node(id).outputs[0];
  take_name(graph, requantized, name);
  return requantized;
}

}  // namespace

void fold_conversions(Graph& graph, const NetworkArithmetic& arithmetic) {
  for (bool changed = true; changed;) {
    changed = false;
    graph.erase_unused();
    for (const NodeId id : graph.topological_order()) {
      const Node node = graph.node(id);
      if (const auto instead = replacement(graph, node, arithmetic)) {
        graph.replace_uses(node.outputs[0], *instead);
        changed = true;
      }
    }
  }
}

}  // namespace tare
