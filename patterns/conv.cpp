// Conv(x, w[, b]) on storage values: every rank, grouped and depthwise alike.
#include "tare/graph.h"
#include "tare/pattern.h"

namespace tare {
namespace {

ValueId affine_conv(AffineBuilder& builder, const Match& match) {
  const Node& conv = builder.graph().node(match.root());
  const ValueId x = builder.activation(match.value("x"));
  const ValueId w = builder.weight(conv, match.value("w"), 0);
  const ValueId b = builder.bias(conv, match.value_if("b"), x, w);
  return builder.accumulate(conv, {x, w, b});
}

}  // namespace
}  // namespace tare

TARE_PATTERN(conv) {
  using namespace tare;
  return {.name = "conv",
          .summary = "convolution with a constant kernel and an optional constant bias",
          .pattern =
              [] {
                return op("Conv").with(any().as("x"), constant().as("w"),
                                       optional(constant().as("b")));
              },
          .simulate = affine_conv,
          .quantize = affine_conv};
}
