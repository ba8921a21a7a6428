// Gemm(x, w[, b]) with alpha = beta = 1 and x not transposed, the form preparation leaves
// behind.
#include "tare/graph.h"
#include "tare/pattern.h"

namespace tare {
namespace {

ValueId affine_dense(AffineBuilder& builder, const Match& match) {
  const Node& gemm = builder.graph().node(match.root());
  const ValueId x = builder.activation(match.value("x"));
  const ValueId w =
      builder.weight(gemm, match.value("w"), gemm.attributes.integer("transB", 0) != 0 ? 0 : 1);
  const ValueId b = builder.bias(gemm, match.value_if("b"), x, w);
  return builder.accumulate(gemm, {x, w, b});
}

/// A bias per output unit: integer kernels add one row.
bool is_plain(const Graph& graph, const Node& gemm) {
  const Attributes& a = gemm.attributes;
  if (a.real("alpha", 1) != 1 || a.real("beta", 1) != 1 || a.integer("transA", 0) != 0) {
    return false;
  }
  return gemm.inputs.size() < 3 || !gemm.inputs[2] ||
         element_count(graph.type(gemm.inputs[2]).shape) ==
             graph.type(gemm.outputs[0]).shape.back();
}

}  // namespace
}  // namespace tare

TARE_PATTERN(dense) {
  using namespace tare;
  return {.name = "dense",
          .summary = "fully connected layer with constant weights",
          .pattern =
              [] {
                return op("Gemm")
                    .with(any().as("x"), constant().as("w"), optional(constant().as("b")))
                    .where(is_plain);
              },
          .simulate = affine_dense,
          .quantize = affine_dense};
}
