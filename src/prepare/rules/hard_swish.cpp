// x * HardSigmoid(x, 1/6, 1/2), x * Clip(x + 3, 0, 6) / 6 in any order -> HardSwish(x)
//
// The operator is as old as opset 14; most files write it out.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/hard_gate.h"

namespace tare {
namespace {

bool is_gate(const Graph& graph, ValueId result, ValueId gate, ValueId x, double coefficient) {
  if (is_near(graph, result, coefficient, 1.0 / 6)) {
    return relu6_gate_of(graph, gate) == x;
  }
  const Node* sigmoid = computed_by(graph, gate, "HardSigmoid");
  return coefficient == 1 && sigmoid != nullptr && sigmoid->inputs[0] == x &&
         is_near(sigmoid->attributes.real("alpha", 0.2F), 1.0 / 6) &&
         sigmoid->attributes.real("beta", 0.5F) == 0.5F;
}

std::optional<ValueId> hard_swish_operand(const Graph& graph, const Node& node) {
  const Product product = product_of(graph, node.outputs[0]);
  for (const ValueId x : product.factors) {
    const auto gate = product.partner_of(x);
    if (gate && is_gate(graph, node.outputs[0], *gate, x, product.coefficient) &&
        graph.type(x) == graph.type(node.outputs[0])) {
      return x;
    }
  }
  return std::nullopt;
}

bool is_hard_swish(const Graph& graph, const Node& node) {
  return hard_swish_operand(graph, node).has_value();
}

std::variant<Patch, Refusal> combine_hard_swish(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  Patch patch(graph);
  patch.replace_node(node, "HardSwish", {*hard_swish_operand(graph, node)});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(hard_swish) {
  using namespace tare;
  return {.name = "hard_swish",
          .summary = "writes x * HardSigmoid(x) as HardSwish",
          .benefit = 80,
          .pattern =
              [] {
                return op_of({"Div", "Mul"})
                    .where(is_hard_swish, "is x * Clip(x + 3, 0, 6) / 6 in some order");
              },
          .rewrite = combine_hard_swish};
}
