#include "lower/forms/clips_behind_products.h"

#include "lower/forms/add_operator.h"
#include "lower/forms/respell.h"

#include <algorithm>
#include <string>

namespace tare {
namespace {

bool is_read_in_float(const Graph& graph, ValueId value) {
  const auto& users = graph.users(value);
  return std::any_of(users.begin(), users.end(),
                     [&](NodeId user) { return graph.node(user).op != "QuantizeLinear"; });
}

/// The value between the bounds; one that is absent does not bound it.
ValueId between(Graph& graph, const Node& clip, ValueId low, ValueId high) {
  const TensorType type = graph.type(clip.outputs[0]);
  const std::string name = graph.name(clip.outputs[0]);
  ValueId result = clip.inputs[0];
  if (low) {
    result = add_operator(graph, "Max", {result, low}, type, name + "_maximum");
  }
  if (high) {
    result = add_operator(graph, "Min", {result, high}, type, name + "_minimum");
  }
  return result;
}

ValueId operand(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : ValueId{};
}

}  // namespace

Graph with_clips_behind_products(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const Node node = onnx.node(id);
    if ((node.op != "Relu" && node.op != "Clip") ||
        !is_product_of_quantized(onnx, node.inputs[0]) ||
        !is_read_in_float(onnx, node.outputs[0])) {
      continue;
    }
    ValueId low = operand(node, 1);
    if (node.op == "Relu") {
      low = onnx.add_constant(onnx.unique_name(onnx.name(node.outputs[0]) + "_zero"),
                              Tensor::of<float>({}, {0}));
    }
    const ValueId result = between(onnx, node, low, operand(node, 2));
    if (result != node.inputs[0]) {
      replace(onnx, id, result);
    }
  }
  return onnx;
}

}  // namespace tare
