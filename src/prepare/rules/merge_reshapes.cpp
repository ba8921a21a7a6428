// Reshape(Reshape(x)) -> Reshape(x), or x when they cancel; likewise Flatten, Squeeze,
// Unsqueeze
//
// The elements keep their order through all of them, so only the last shape counts.
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>

namespace tare {
namespace {

/// The outer node's own target where it depends on nothing but the number of elements.
/// Otherwise the static shape, with the first extent copied (0) where none of the nodes changes
/// it.
std::vector<std::int64_t> target(const Graph& graph, const Node& outer, const Node& inner) {
  if (outer.op == "Reshape") {
    const auto own = constant_integers(graph, outer, 1);
    if (own && std::find(own->begin(), own->end(), 0) == own->end()) {
      return *own;
    }
  }
  Shape shape = graph.type(outer.outputs[0]).shape;
  const Shape& before = graph.type(inner.inputs[0]).shape;
  const Shape& between = graph.type(inner.outputs[0]).shape;
  if (!shape.empty() && !before.empty() && !between.empty() && shape[0] == before[0] &&
      shape[0] == between[0]) {
    shape[0] = 0;
  }
  return shape;
}

std::variant<Patch, Refusal> merge_reshapes(const Graph& graph, const Match& match) {
  const Node& outer = graph.node(match.root());
  const Node& inner = graph.node(match.node("inner"));
  const ValueId x = inner.inputs[0];
  const Shape& result = graph.type(outer.outputs[0]).shape;
  Patch patch(graph);
  if (graph.type(x).shape == result) {
    patch.replace(outer.outputs[0], x);
    return patch;
  }
  if (element_count(result) == 0) {
    return Refusal{"an extent of 0 cannot be told from one that is copied"};
  }
  const std::vector<std::int64_t> shape = target(graph, outer, inner);
  const ValueId constant = patch.add_constant(
      outer.name + "/shape", Tensor::of({static_cast<std::int64_t>(shape.size())}, shape));
  patch.replace_node(outer, "Reshape", {x, constant});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(merge_reshapes) {
  using namespace tare;
  return {.name = "merge_reshapes",
          .summary = "makes one Reshape of two nodes in a row that only change the shape",
          .benefit = 70,
          .pattern =
              [] {
                const Pattern reshape = op_of({"Flatten", "Reshape", "Squeeze", "Unsqueeze"});
                return reshape.with(reshape.as("inner")).with_more();
              },
          .rewrite = merge_reshapes};
}
