#include "lower/forms/normalizations_apart.h"

#include "lower/forms/add_operator.h"
#include "lower/forms/respell.h"

#include <algorithm>
#include <iterator>

namespace tare {
namespace {

/// Extents of 0 are those of the operand, whatever the samples.
bool keeps_extents(const Graph& graph, const Node& reshape) {
  const Tensor* extents = graph.constant(reshape.inputs[1]);
  if (extents == nullptr || extents->dtype() != DType::kInt64 ||
      reshape.attributes.integer("allowzero", 0) != 0 ||
      extents->size() != std::ssize(graph.type(reshape.inputs[0]).shape)) {
    return false;
  }
  const auto values = extents->view<std::int64_t>();
  return std::all_of(values.begin(), values.end(),
                     [](std::int64_t value) { return value == 0; });
}

}  // namespace

Graph with_normalizations_apart(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const Node node = onnx.node(id);
    if (node.op != "LayerNormalization" || producer_op(onnx, node.inputs[0]) != "Add") {
      continue;
    }
    const ValueId sum = node.inputs[0];
    const TensorType type = onnx.type(sum);
    const std::string name = onnx.name(sum);
    const auto rank = static_cast<std::int64_t>(type.shape.size());
    const ValueId extents =
        onnx.add_constant(onnx.unique_name(name + "_extents"),
                          Tensor::of<std::int64_t>({rank}, Shape(type.shape.size(), 0)));
    onnx.set_input(id, 0, add_operator(onnx, "Reshape", {sum, extents}, type, name + "_apart"));
  }
  return onnx;
}

Graph read_normalizations_apart(Graph graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    if (node.op != "LayerNormalization") {
      continue;
    }
    const Node* reshape = lone_producer(graph, node.inputs[0], "Reshape");
    if (reshape != nullptr && producer_op(graph, reshape->inputs[0]) == "Add" &&
        keeps_extents(graph, *reshape)) {
      graph.set_input(id, 0, reshape->inputs[0]);
    }
  }
  graph.erase_unused();
  return graph;
}

}  // namespace tare
