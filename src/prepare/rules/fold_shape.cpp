// Shape(x), Size(x) -> constant
//
// Where the model leaves no extent open, what exporters compute from shapes is known. Elsewhere
// the importer folds what no extent changes.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "graph/operators/shape_facts.h"

namespace tare {
namespace {

std::variant<Patch, Refusal> fold_shape(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  if (leaves_extents_open(graph)) {
    return Refusal{"the model leaves extents open"};
  }
  Patch patch(graph);
  patch.replace(node.outputs[0],
                patch.add_constant(graph.name(node.outputs[0]),
                                   *fact_of_shape(node, graph.type(node.inputs[0]).shape)));
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_shape) {
  using namespace tare;
  return {.name = "fold_shape",
          .summary = "replaces the shape or size of a value by a constant",
          .benefit = 100,
          .pattern =
              [] {
                return op_of({"Shape", "Size"}).with(any());
              },
          .rewrite = fold_shape};
}
