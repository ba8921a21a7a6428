// ConvTranspose(x, w[, b]) in one group: kernels are [inputs, outputs, ...], so that scales go
// along axis 1.
#include "tare/graph.h"
#include "tare/pattern.h"

namespace tare {
namespace {

ValueId affine_conv_transpose(AffineBuilder& builder, const Match& match) {
  const Node& conv = builder.graph().node(match.root());
  const ValueId x = builder.activation(match.value("x"));
  const ValueId w = builder.weight(conv, match.value("w"), 1);
  const ValueId b = builder.bias(conv, match.value_if("b"), x, w);
  return builder.accumulate(conv, {x, w, b});
}

}  // namespace
}  // namespace tare

TARE_PATTERN(conv_transpose) {
  using namespace tare;
  return {
      .name = "conv_transpose",
      .summary = "transposed convolution with a constant kernel and an optional constant bias",
      .pattern =
          [] {
            return op("ConvTranspose")
                .with(any().as("x"), constant().as("w"), optional(constant().as("b")))
                .attribute("group", std::int64_t{1}, true);
          },
      .simulate = affine_conv_transpose,
      .quantize = affine_conv_transpose};
}
