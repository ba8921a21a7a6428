// Reciprocal(Sqrt(x)), 1 / Sqrt(x) -> Rsqrt(x)
//
// ONNX has no such operator. As one it is one table where its operand and result are integers.
#include "tare/graph.h"
#include "tare/pattern.h"

namespace tare {
namespace {

std::variant<Patch, Refusal> combine_rsqrt(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const ValueId x = match.value("x");
  if (graph.type(x) != graph.type(node.outputs[0])) {
    return Refusal{"the dividend has more elements than the root"};
  }
  Patch patch(graph);
  patch.replace_node(node, "Rsqrt", {x}, {});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(rsqrt) {
  using namespace tare;
  return {.name = "rsqrt",
          .summary = "writes the reciprocal of a square root as Rsqrt",
          .benefit = 10,
          .pattern =
              [] {
                const Pattern root = op("Sqrt").with(any().as("x")).single_use();
                return op("Reciprocal").with(root) | op("Div").with(scalar(1), root);
              },
          .rewrite = combine_rsqrt};
}
