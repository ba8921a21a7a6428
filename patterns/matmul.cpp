// MatMul(a, b): b is a constant (per column) or an activation as well.
#include "tare/graph.h"
#include "tare/pattern.h"

namespace tare {
namespace {

ValueId affine_matmul(AffineBuilder& builder, const Match& match) {
  const Graph& graph = builder.graph();
  const Node& product = graph.node(match.root());
  const ValueId b = match.value("b");
  const bool constant_b = graph.constant(b) != nullptr;
  const ValueId left = builder.activation(match.value("a"));
  const ValueId right =
      constant_b ? builder.weight(product, b, static_cast<int>(graph.type(b).shape.size()) - 1)
                 : builder.activation(b);
  return builder.accumulate(product, {left, right});
}

}  // namespace
}  // namespace tare

TARE_PATTERN(matmul) {
  using namespace tare;
  return {.name = "matmul",
          .summary = "matrix product of an activation with weights or with another activation",
          .pattern =
              [] {
                const auto matrix = [](const Graph& graph, ValueId value) {
                  return graph.type(value).shape.size() >= 2;
                };
                return op("MatMul").with(any().where_value(matrix).as("a"),
                                         any().where_value(matrix).as("b"));
              },
          .simulate = affine_matmul,
          .quantize = affine_matmul};
}
