// Weights in blocks along what a matrix product sums over, as GPTQ's groups and ONNX's
// block_size: finer scales for weights of few bits. No integer is their sum, since scales
// differ from product to product, so such a layer multiplies real values, and saves size rather
// than time.
#include "simulate/weight_blocks.h"

#include "tare/graph.h"
#include "tare/pattern.h"
#include "tare/simulate.h"

#include "graph/operators/product.h"

namespace tare {
namespace {

ValueId affine_blocks(AffineBuilder& builder, const Match& match) {
  const Graph& graph = builder.graph();
  const Node& node = graph.node(match.root());
  std::vector<ValueId> operands = node.inputs;
  operands[1] = builder.weight(node, operands[1], *weight_block_axis(graph, node));
  return builder.apply(node, operands);
}

}  // namespace

std::optional<int> weight_block_axis(const Graph& graph, const Node& node) {
  if ((node.op != "Gemm" && node.op != "MatMul") || graph.constant(node.inputs[0]) != nullptr) {
    return std::nullopt;
  }
  const Tensor* weights = graph.constant(node.inputs[1]);
  if (weights == nullptr || weights->dtype() != DType::kFloat32 ||
      weights->shape().size() < 2) {
    return std::nullopt;
  }
  return static_cast<int>(weight_layout(node, weights->shape().size()).input);
}

const QuantPattern& weight_blocks() {
  static const QuantPattern pattern{
      .name = "weight_blocks",
      .summary = "a float product of weights in blocks",
      .pattern =
          [] {
            return any_op().where([](const Graph& graph, const Node& node) {
              return weight_block_axis(graph, node).has_value();
            });
          },
      .simulate = affine_blocks,
      .quantize = affine_blocks};
  return pattern;
}

bool has_weight_blocks(const Region& region) {
  return region.pattern == &weight_blocks();
}

}  // namespace tare
