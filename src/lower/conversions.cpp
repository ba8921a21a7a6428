#include "lower/conversions.h"

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
  const std::string name = before.name;
  const std::string result_name = graph.name(old);
  const NodeId node = graph.add_node(graph.unique_name(name), op, std::move(operands),
                                     {{graph.unique_name(result_name), graph.type(old)}},
                                     std::move(attributes));
  graph.replace_uses(old, graph.node(node).outputs[0]);
  graph.erase(old_node);
  graph.rename(node, name);
  graph.rename(graph.node(node).outputs[0], result_name);
}

}  // namespace tare
