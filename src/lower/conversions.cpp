// Adds conversions, and gives them names. Constants are quantized at once.
#include "lower/conversions.h"

#include "graph/ir/derived_names.h"

#include <vector>

namespace tare {

ValueId add_quantize(Graph& graph, ValueId expressed, const TensorType& type,
                     const std::string& name) {
  if (const Tensor* constant = graph.constant(expressed)) {
    return graph.add_constant(graph.unique_name(name), quantize(*constant, *type.quant), type);
  }
  const NodeId id =
      graph.add_node("", "Quantize", {expressed}, {{graph.unique_name(name), type}});
  return graph.node(id).outputs[0];
}

ValueId add_dequantize(Graph& graph, ValueId storage, const std::string& name) {
  const TensorType type{
      .dtype = DType::kFloat32, .shape = graph.type(storage).shape, .quant = {}, .point = {}};
  const NodeId id =
      graph.add_node("", "Dequantize", {storage}, {{graph.unique_name(name), type}});
  return graph.node(id).outputs[0];
}

void replace_node(Graph& graph, const Node& before, const std::string& op,
                  std::vector<ValueId> operands, Attributes attributes) {
  while (!operands.empty() && !operands.back()) {
    operands.pop_back();
  }
  const ValueId old = before.outputs[0];
  const NodeId old_node = *graph.producer(old);
  const std::string result_name = graph.name(old);
  const NodeId node = graph.add_node(graph.unique_name(before.name), op, std::move(operands),
                                     {{graph.unique_name(result_name), graph.type(old)}},
                                     std::move(attributes));
  graph.replace_uses(old, graph.node(node).outputs[0]);
  take_place(graph, old_node, node);
  graph.rename(graph.node(node).outputs[0], result_name);
}

void name_conversions(Graph& graph) {
  std::vector<NodeId> others;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (is_conversion(node) && node.name != graph.name(node.outputs[0])) {
      others.push_back(id);
    }
  }
  // None is to stand in the way of another.
  for (const NodeId id : others) {
    graph.rename(id, graph.unique_name(graph.node(id).name + "_conversion"));
  }
  for (const NodeId id : others) {
    graph.rename(id, graph.name(graph.node(id).outputs[0]));
  }
}

}  // namespace tare
