// Reshape(x, shape) -> Flatten(x) {axis}, where the result is a matrix whose rows are the
// leading axes of x
//
// Exporters write one or the other between the image and the dense part of a network. Flatten
// says it without an extent of the batch.
#include "tare/graph.h"
#include "tare/pattern.h"

#include <cstddef>

namespace tare {
namespace {

/// How many leading axes make up the rows; the fewest, but with the batch. Nothing where an
/// axis would have to be split.
std::optional<std::int64_t> leading_axes(const Shape& shape, std::int64_t rows) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    product *= shape[i];
    if (product == rows) {
      return static_cast<std::int64_t>(i) + 1;
    }
  }
  return rows == 1 ? std::optional<std::int64_t>(0) : std::nullopt;
}

/// Whether the target says that the first axis stays, whatever its extent is.
bool keeps_first_axis(const Graph& graph, const Node& reshape) {
  const auto target = constant_integers(graph, reshape, 1);
  return target && target->size() == 2 && target->front() == 0;
}

std::variant<Patch, Refusal> flatten(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  if (leaves_extents_open(graph) && !keeps_first_axis(graph, node)) {
    return Refusal{"its rows may not be the leading axes for other extents"};
  }
  const Shape& before = graph.type(node.inputs[0]).shape;
  const Shape& after = graph.type(node.outputs[0]).shape;
  if (after.size() != 2 || before.size() < 3 || element_count(before) == 0) {
    return Refusal{"it makes no matrix of more axes"};
  }
  const auto axis = leaves_extents_open(graph) ? std::optional<std::int64_t>(1)
                                               : leading_axes(before, after[0]);
  if (!axis) {
    return Refusal{"its rows are not the leading axes"};
  }
  Patch patch(graph);
  patch.replace_node(node, "Flatten", {node.inputs[0]}, {{"axis", *axis}});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(canonical_flatten) {
  using namespace tare;
  return {.name = "canonical_flatten",
          .summary = "makes a Flatten of a Reshape to a matrix that says the same",
          .benefit = 90,
          .pattern = [] { return op("Reshape").with(any(), constant()); },
          .rewrite = flatten};
}
