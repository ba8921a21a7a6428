// Slice(Concat(a, b)) -> a, or Slice(a)
//
// Where nothing of the other operands is taken.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/pieces.h"
#include "prepare/slice_axes.h"

namespace tare {
namespace {

std::variant<Patch, Refusal> take_operand(const Graph& graph, const Match& match) {
  const Node& slice = graph.node(match.root());
  if (leaves_extents_open(graph)) {
    return Refusal{"what it takes may be others' for other extents"};
  }
  const auto axes = slice_axes(graph, slice);
  if (!axes || axes->size() != 1 || axes->front().step != 1) {
    return Refusal{"it takes elements along several axes, or not neighbours"};
  }
  const std::size_t axis = axes->front().axis;
  const std::int64_t begin = axes->front().begin(graph.type(slice.inputs[0]).shape[axis]);
  const std::int64_t end = begin + graph.type(slice.outputs[0]).shape.at(axis);
  const std::vector<ValuePiece> pieces =
      cut(pieces_of(graph, slice.inputs[0], axis), begin, end);
  if (pieces.size() != 1 || pieces[0].value == slice.inputs[0]) {
    return Refusal{"it takes elements of several operands"};
  }
  Patch patch(graph);
  const ValueId part = join(patch, pieces, axis, slice.name);
  if (patch.type(part) != graph.type(slice.outputs[0])) {
    return Refusal{"the operands are of another type than the result"};
  }
  patch.replace(slice.outputs[0], part);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(slice_concat) {
  using namespace tare;
  return {.name = "slice_concat",
          .summary = "takes a slice of the one operand of a Concat that it lies in",
          .benefit = 70,
          .pattern = [] { return op("Slice").with(op("Concat")).with_more(); },
          .rewrite = take_operand};
}
