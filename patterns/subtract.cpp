// Sub(a, b) of two activations, each with parameters of its own.
#include "tare/simulate.h"

namespace tare {
namespace {

ValueId affine(AffineBuilder& builder, const Match& match) {
  return builder.apply(
      builder.graph().node(match.root()),
      {builder.activation(match.value("a")), builder.activation(match.value("b"))});
}

}  // namespace
}  // namespace tare

TARE_PATTERN(subtract) {
  using namespace tare;
  return {.name = "subtract",
          .summary = "subtraction of two activations",
          .follows_neighbours = true,
          .pattern = [] { return op("Sub").with(any().as("a"), any().as("b")); },
          .simulate = affine,
          .quantize = affine};
}
