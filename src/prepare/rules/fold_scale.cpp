// layer(x) * c, layer(x) / c -> layer(x) with scaled weights and bias
//
// One rounding of the weights instead of one more operator.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"
#include "prepare/linear_layer.h"

namespace tare {
namespace {

std::variant<Patch, Refusal> fold_scale(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Node& layer = graph.node(match.node("layer"));
  const Shape& shape = graph.type(layer.outputs[0]).shape;
  auto factor = per_channel(graph, match.value("factor"), shape, channel_axis(graph, layer));
  if (!factor || graph.type(node.outputs[0]) != graph.type(layer.outputs[0])) {
    return Refusal{"the factor is not one float32 number for each channel"};
  }
  if (node.op == "Div") {
    for (double& number : *factor) {
      number = 1 / number;
    }
  }
  return folded_into(graph, layer, *factor, {}, node.outputs[0]);
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_scale) {
  using namespace tare;
  return {.name = "fold_scale",
          .summary = "moves a constant Mul or Div into the convolution or product before it",
          .benefit = 50,
          .pattern =
              [] {
                const Pattern layer = linear_layer().as("layer");
                const Pattern factor = constant().as("factor");
                return op("Mul").with_any_order(layer, factor) | op("Div").with(layer, factor);
              },
          .rewrite = fold_scale};
}
