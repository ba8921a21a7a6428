// Add(Conv(x, w), b) with one constant per output channel: the addition happens in the
// accumulator.
#include "tare/graph.h"
#include "tare/pattern.h"

namespace tare {
namespace {

/// One element per channel of axis 1: [C,1,1] or [1,C,1,1] against a result [N,C,H,W].
bool per_channel(const Graph& graph, ValueId bias, const Shape& result) {
  const Shape& shape = graph.type(bias).shape;
  const std::size_t rank = result.size();
  if (shape.size() > rank || shape.size() + 1 < rank) {
    return false;
  }
  const std::size_t channel_axis = shape.size() - (rank - 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != (i == channel_axis ? result[1] : 1)) {
      return false;
    }
  }
  return true;
}

ValueId affine_conv_bias_add(AffineBuilder& builder, const Match& match) {
  const Node& conv = builder.graph().node(match.node("conv"));
  const ValueId x = builder.activation(match.value("x"));
  const ValueId w = builder.weight(conv, match.value("w"), 0);
  const ValueId b = builder.bias(conv, match.value("b"), x, w);
  return builder.accumulate(conv, {x, w, b});
}

}  // namespace
}  // namespace tare

TARE_PATTERN(conv_bias_add) {
  using namespace tare;
  return {
      .name = "conv_bias_add",
      .summary = "convolution whose bias is a constant Add after it",
      .benefit = 10,
      .pattern =
          [] {
            return op("Add")
                .with_any_order(
                    op("Conv").with(any().as("x"), constant().as("w")).single_use().as("conv"),
                    constant().as("b"))
                .where([](const Graph& graph, const Node& add) {
                  const bool first = graph.constant(add.inputs[0]) != nullptr;
                  return per_channel(graph, add.inputs[first ? 0 : 1],
                                     graph.type(add.outputs[0]).shape);
                });
          },
      .simulate = affine_conv_bias_add,
      .quantize = affine_conv_bias_add};
}
