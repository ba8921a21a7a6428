// Add(Conv(x, w[, b]), y): the residual joins the convolution before it is rounded, for engines
// that fuse the addition. The convolution's own result has no quantization point.
#include "tare/graph.h"
#include "tare/pattern.h"

namespace tare {
namespace {

ValueId affine_conv_add(AffineBuilder& builder, const Match& match) {
  const Node& conv = builder.graph().node(match.node("conv"));
  const ValueId x = builder.activation(match.value("x"));
  const ValueId w = builder.weight(conv, match.value("w"), 0);
  const ValueId b = builder.bias(conv, match.value_if("b"), x, w);
  const ValueId sum = builder.accumulate(conv, {x, w, b});
  const ValueId y = builder.activation(match.value("y"));
  return builder.apply(builder.graph().node(match.root()), {sum, y});
}

}  // namespace
}  // namespace tare

TARE_PATTERN(conv_add) {
  using namespace tare;
  return {.name = "conv_add",
          .summary = "convolution and the residual added to it",
          .benefit = 20,
          .pattern =
              [] {
                return op("Add").with_any_order(
                    op("Conv")
                        .with(any().as("x"), constant().as("w"), optional(constant().as("b")))
                        .single_use()
                        .as("conv"),
                    any().as("y"));
              },
          .simulate = affine_conv_add,
          .quantize = affine_conv_add};
}
