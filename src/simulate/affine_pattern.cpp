#include "simulate/affine_pattern.h"

#include "graph/operators/affine_ops.h"

namespace tare {
namespace {

/// Operands that are quantized, the first ones.
std::size_t data_operands(const Graph& graph, const Node& node) {
  return find_affine_op(graph, node)->all_operands ? node.inputs.size() : 1;
}

bool has_own_parameters(const Graph& graph, const Node& node) {
  const AffineOp* row = find_affine_op(graph, node);
  if (row == nullptr ||
      (row->rule != AffineRule::kRounds && row->rule != AffineRule::kTabulates)) {
    return false;
  }
  for (std::size_t i = 0; i < data_operands(graph, node); ++i) {
    if (graph.type(node.inputs[i]).dtype != DType::kFloat32) {
      return false;
    }
  }
  return graph.type(node.outputs[0]).dtype == DType::kFloat32;
}

ValueId affine(AffineBuilder& builder, const Match& match) {
  const Graph& graph = builder.graph();
  const Node& node = graph.node(match.root());
  std::vector<ValueId> operands = node.inputs;
  for (std::size_t i = 0; i < data_operands(graph, node); ++i) {
    operands[i] = builder.activation(operands[i]);
  }
  return builder.apply(node, operands);
}

}  // namespace

const QuantPattern& affine_pattern() {
  static const QuantPattern pattern{
      .name = "affine",
      .summary = "any operator of the affine allow-list",
      .follows_neighbours = true,
      .pattern = [] { return any_op().where(has_own_parameters); },
      .simulate = affine,
      .quantize = affine};
  return pattern;
}

}  // namespace tare
