// layer(x) + c, layer(x) - c -> layer(x) with a bias; a MatMul of rank 2 becomes a Gemm
//
// An integer layer adds its bias to the accumulator without rounding; an Add of its own would
// be quantized.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"
#include "prepare/linear_layer.h"

namespace tare {
namespace {

std::variant<Patch, Refusal> fold_bias(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Node& layer = graph.node(match.node("layer"));
  const Shape& shape = graph.type(layer.outputs[0]).shape;
  auto bias = per_channel(graph, match.value("bias"), shape, channel_axis(graph, layer));
  if (!bias || graph.type(node.outputs[0]) != graph.type(layer.outputs[0])) {
    return Refusal{"the constant is not one float32 number for each channel"};
  }
  if (node.op == "Sub") {
    for (double& number : *bias) {
      number = -number;
    }
  }
  return folded_into(graph, layer, {}, *bias, node.outputs[0]);
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_bias) {
  using namespace tare;
  return {.name = "fold_bias",
          .summary = "moves a constant Add or Sub into the convolution or product before it",
          .benefit = 50,
          .pattern =
              [] {
                const Pattern layer = linear_layer().as("layer");
                const Pattern bias = constant().as("bias");
                return op("Add").with_any_order(layer, bias) | op("Sub").with(layer, bias);
              },
          .rewrite = fold_bias};
}
