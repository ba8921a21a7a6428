// ScatterND(x, all indices of x[:, a:b], y) -> Concat(x[:, :a], y, x[:, b:])
//
// The assignment of a slice, as exporters write it. Engines look every index up.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/pieces.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// Below that it is no slower than what would take its place: an index takes 35 ns in ONNX
/// Runtime, two Slices and a Concat of small tensors 10 us.
constexpr std::int64_t kFewIndices = 256;

/// Elements [begin, end) along an axis, and all of the other axes.
struct Assignment {
  std::size_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What the indices name; nothing where that is no slice.
std::optional<Assignment> assignment(const Shape& data, const Tensor& indices) {
  const Shape& shape = indices.shape();
  if (shape.empty() || indices.dtype() != DType::kInt64) {
    return std::nullopt;
  }
  const auto depth = static_cast<std::size_t>(shape.back());
  if (depth + 1 != shape.size() || depth > data.size() || indices.size() == 0) {
    return std::nullopt;
  }
  const auto all = indices.view<std::int64_t>();
  std::vector<std::int64_t> first(depth);
  for (std::size_t axis = 0; axis < depth; ++axis) {
    first[axis] = all[axis] + (all[axis] < 0 ? data[axis] : 0);
  }
  std::vector<std::int64_t> position(depth, 0);
  for (std::size_t i = 0; i < all.size(); i += depth) {
    for (std::size_t axis = 0; axis < depth; ++axis) {
      const std::int64_t index = all[i + axis] + (all[i + axis] < 0 ? data[axis] : 0);
      if (index != first[axis] + position[axis]) {
        return std::nullopt;
      }
    }
    for (std::size_t axis = depth; axis-- > 0;) {
      if (++position[axis] < shape[axis]) {
        break;
      }
      position[axis] = 0;
    }
  }
  std::optional<Assignment> result;
  for (std::size_t axis = 0; axis < depth; ++axis) {
    if (shape[axis] == data[axis] && first[axis] == 0) {
      continue;
    }
    if (result || first[axis] < 0 || first[axis] + shape[axis] > data[axis]) {
      return std::nullopt;
    }
    result = Assignment{axis, first[axis], first[axis] + shape[axis]};
  }
  return result ? result : Assignment{0, 0, data.at(0)};
}

std::variant<Patch, Refusal> side_by_side(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Tensor& indices = *graph.constant(node.inputs[1]);
  const Shape& shape = graph.type(node.inputs[0]).shape;
  if (leaves_extents_open(graph)) {
    return Refusal{"its indices may name no slice for other extents"};
  }
  const auto slice = assignment(shape, indices);
  if (!slice || indices.size() < kFewIndices * indices.shape().back()) {
    return Refusal{"its indices are few, or name no slice"};
  }
  const std::vector<ValuePiece> before = pieces_of(graph, node.inputs[0], slice->axis);
  std::vector<ValuePiece> pieces = cut(before, 0, slice->begin);
  pieces.push_back({node.inputs[2], 0, slice->end - slice->begin});
  const std::vector<ValuePiece> behind = cut(before, slice->end, shape[slice->axis]);
  pieces.insert(pieces.end(), behind.begin(), behind.end());
  Patch patch(graph);
  const ValueId whole = join(patch, pieces, slice->axis, node.name);
  if (patch.type(whole) != graph.type(node.outputs[0])) {
    return Refusal{"the operands are of another type than the result"};
  }
  patch.replace(node.outputs[0], whole);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(scatter_slice) {
  using namespace tare;
  return {.name = "scatter_slice",
          .summary = "writes the assignment of a slice by ScatterND as Concat",
          .benefit = 80,
          .pattern =
              [] {
                return op("ScatterND")
                    .with(any(), constant(), any())
                    .attribute("reduction", std::string("none"), true);
              },
          .rewrite = side_by_side};
}
