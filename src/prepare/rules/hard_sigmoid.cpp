// Clip(x + 3, 0, 6) / 6 -> HardSigmoid(x, 1/6, 1/2)
//
// Exporters without the operator write it out, dividing or multiplying.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/hard_gate.h"

namespace tare {
namespace {

std::optional<ValueId> hard_sigmoid_operand(const Graph& graph, const Node& node) {
  const Product product = product_of(graph, node.outputs[0]);
  if (product.factors.size() != 1 ||
      !is_near(graph, node.outputs[0], product.coefficient, 1.0 / 6)) {
    return std::nullopt;
  }
  const auto x = relu6_gate_of(graph, product.factors[0]);
  return x && graph.type(*x) == graph.type(node.outputs[0]) ? x : std::nullopt;
}

bool is_hard_sigmoid(const Graph& graph, const Node& node) {
  return hard_sigmoid_operand(graph, node).has_value();
}

std::variant<Patch, Refusal> combine_hard_sigmoid(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  Patch patch(graph);
  patch.replace_node(node, "HardSigmoid", {*hard_sigmoid_operand(graph, node)},
                     {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(hard_sigmoid) {
  using namespace tare;
  return {.name = "hard_sigmoid",
          .summary = "writes Clip(x + 3, 0, 6) / 6 as HardSigmoid",
          .benefit = 80,
          .pattern =
              [] {
                return op_of({"Div", "Mul"}).where(is_hard_sigmoid, "is Clip(x + 3, 0, 6) / 6");
              },
          .rewrite = combine_hard_sigmoid};
}
