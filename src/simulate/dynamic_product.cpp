#include "simulate/dynamic_product.h"

#include "tare/graph.h"

#include "graph/operators/product.h"

namespace tare {
namespace {

/// The operators on integers that stand for it neither scale nor transpose their operand.
bool is_plain(const Attributes& attributes) {
  return attributes.real("alpha", 1) == 1 && attributes.real("beta", 1) == 1 &&
         attributes.integer("transA", 0) == 0;
}

/// Absent, or one constant number for each result.
bool is_row(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || !node.inputs[2]) {
    return true;
  }
  const Tensor* bias = graph.constant(node.inputs[2]);
  const Shape& shape = graph.type(node.outputs[0]).shape;
  return bias != nullptr && static_cast<std::int64_t>(bias->size()) ==
                                shape[static_cast<std::size_t>(channel_axis(node, shape))];
}

}  // namespace

std::optional<int> dynamic_weight_axis(const Graph& graph, const Node& node) {
  const Tensor* weights = is_product(node) ? graph.constant(node.inputs[1]) : nullptr;
  if (weights == nullptr || weights->dtype() != DType::kFloat32 ||
      weights->shape().size() < 2 || graph.constant(node.inputs[0]) != nullptr ||
      !is_row(graph, node)) {
    return std::nullopt;
  }
  const bool runs = node.op == "Conv" || (node.op == "Gemm" && is_plain(node.attributes)) ||
                    (node.op == "MatMul" && graph.type(node.inputs[0]).shape.size() >= 2);
  return runs ? std::optional(
                    static_cast<int>(weight_layout(node, weights->shape().size()).output))
              : std::nullopt;
}

}  // namespace tare
