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

}  // namespace tare
