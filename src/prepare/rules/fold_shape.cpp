// Shape(x), Size(x) -> constant
//
// Shapes are static, so what exporters compute from them is known.
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>

namespace tare {
namespace {

std::variant<Patch, Refusal> fold_shape(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Shape& shape = graph.type(node.inputs[0]).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  Patch patch(graph);
  const auto replace = [&](Tensor tensor) {
    patch.replace(node.outputs[0],
                  patch.add_constant(graph.name(node.outputs[0]), std::move(tensor)));
    return patch;
  };
  if (node.op == "Size") {
    return replace(Tensor::scalar<std::int64_t>(element_count(shape)));
  }
  const auto bound = [&](const char* name, std::int64_t fallback) {
    const std::int64_t axis = node.attributes.integer(name, fallback);
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t end = std::max(start, bound("end", rank));
  const std::vector<std::int64_t> extents(shape.begin() + start, shape.begin() + end);
  return replace(Tensor::of({end - start}, extents));
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
