#include "lower/forms/unfused_operators.h"

#include "lower/forms/add_operator.h"
#include "lower/forms/respell.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace tare {
namespace {

/// The operand of `node` whose operator would become one with it.
std::optional<std::size_t> merged_operand(const Graph& graph, const Node& node) {
  if (node.op == "LayerNormalization") {
    return producer_op(graph, node.inputs[0]) == "Add" ? std::optional(std::size_t{0})
                                                       : std::nullopt;
  }
  for (std::size_t i = 0; node.op == "Add" && i < 2; ++i) {
    if (graph.constant(node.inputs[1 - i]) != nullptr &&
        producer_op(graph, node.inputs[i]) == "MatMul" &&
        is_product_of_quantized(graph, node.inputs[i])) {
      return i;
    }
  }
  return std::nullopt;
}

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

Graph with_unfused_operators(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const Node node = onnx.node(id);
    const auto operand = merged_operand(onnx, node);
    if (!operand) {
      continue;
    }
    const ValueId before = node.inputs[*operand];
    const TensorType type = onnx.type(before);
    const std::string name = onnx.name(before);
    const auto rank = static_cast<std::int64_t>(type.shape.size());
    const ValueId extents =
        onnx.add_constant(onnx.unique_name(name + "_extents"),
                          Tensor::of<std::int64_t>({rank}, Shape(type.shape.size(), 0)));
    onnx.set_input(id, *operand,
                   add_operator(onnx, "Reshape", {before, extents}, type, name + "_unfused"));
  }
  return onnx;
}

Graph read_unfused_operators(Graph graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    const std::size_t operands = node.op == "LayerNormalization" ? 1 : node.op == "Add" ? 2 : 0;
    for (std::size_t i = 0; i < operands; ++i) {
      const Node* reshape = lone_producer(graph, node.inputs[i], "Reshape");
      if (reshape == nullptr || !keeps_extents(graph, *reshape)) {
        continue;
      }
      const std::string before = producer_op(graph, reshape->inputs[0]);
      if (before == (node.op == "Add" ? "MatMul" : "Add")) {
        graph.set_input(id, i, reshape->inputs[0]);
      }
    }
  }
  graph.erase_unused();
  return graph;
}

}  // namespace tare
