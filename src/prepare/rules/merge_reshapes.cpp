// Reshape(Reshape(x)) -> Reshape(x), or x when they cancel; likewise Flatten, Squeeze,
// Unsqueeze, and a Transpose that moves axes of 1
//
// The elements keep their order through all of them, so only the last shape counts. Where the
// model leaves extents open, that has to hold for all of them.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/element_order.h"

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

/// An extent of a result: that of an axis of the operand, or a number; else nothing is known.
struct Extent {
  std::optional<std::size_t> axis;
  std::optional<std::int64_t> number;
};
using Extents = std::vector<Extent>;

std::vector<std::size_t> from_front(const std::vector<std::int64_t>& given, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : given) {
    axes.push_back(
        static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis));
  }
  return axes;
}

/// What becomes of the extents in a node, for all that its model leaves open. Nothing where its
/// target or axes are computed, or left out.
std::optional<Extents> through(const Graph& graph, const Node& node, const Extents& before) {
  Extents after;
  if (node.op == "Flatten") {
    const bool keeps_first = node.attributes.integer("axis", 1) == 1 && !before.empty();
    return Extents{keeps_first ? before[0] : Extent{}, Extent{}};
  }
  const auto numbers = constant_integers(graph, node, 1);
  if (!numbers) {
    return std::nullopt;
  }
  if (node.op == "Reshape") {
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      const std::int64_t n = (*numbers)[i];
      after.push_back(n > 0                         ? Extent{std::nullopt, n}
                      : n == 0 && i < before.size() ? before[i]
                                                    : Extent{});
    }
    return after;
  }
  const bool adds = node.op == "Unsqueeze";
  const std::size_t rank = graph.type(adds ? node.outputs[0] : node.inputs[0]).shape.size();
  const std::vector<std::size_t> axes = from_front(*numbers, rank);
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_named = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (adds) {
      after.push_back(is_named ? Extent{std::nullopt, 1} : before.at(next++));
    } else if (!is_named) {
      after.push_back(before.at(axis));
    }
  }
  return after;
}

/// The target of one Reshape in place of both nodes, whatever the extents are that the model
/// leaves open; nothing where it cannot say that.
std::optional<std::vector<std::int64_t>> open_target(const Graph& graph, const Node& outer,
                                                     const Node& inner) {
  Extents extents;
  for (std::size_t axis = 0; axis < graph.type(inner.inputs[0]).shape.size(); ++axis) {
    extents.push_back({axis, std::nullopt});
  }
  const auto between = through(graph, inner, extents);
  const auto after = between ? through(graph, outer, *between) : std::nullopt;
  if (!after) {
    return std::nullopt;
  }
  std::vector<std::int64_t> target;
  for (std::size_t axis = 0; axis < after->size(); ++axis) {
    const Extent& extent = (*after)[axis];
    target.push_back(extent.number ? *extent.number : extent.axis == axis ? 0 : -1);
  }
  const bool is_said = std::count(target.begin(), target.end(), -1) <= 1;
  return is_said ? std::optional(target) : std::nullopt;
}

bool only_reshapes(const Graph& graph, const Node& node) {
  return node.op != "Transpose" || keeps_element_order(graph, node);
}

std::variant<Patch, Refusal> merge_open_reshapes(const Graph& graph, const Match& match) {
  const Node& outer = graph.node(match.root());
  const Node& inner = graph.node(match.node("inner"));
  const auto target = open_target(graph, outer, inner);
  if (!target || element_count(graph.type(outer.outputs[0]).shape) == 0) {
    return Refusal{"one Reshape cannot say it for other extents"};
  }
  Patch patch(graph);
  const bool is_same = std::all_of(target->begin(), target->end(),
                                   [](std::int64_t extent) { return extent == 0; });
  if (is_same && target->size() == graph.type(inner.inputs[0]).shape.size()) {
    patch.replace(outer.outputs[0], inner.inputs[0]);
    return patch;
  }
  const ValueId constant = patch.add_constant(
      outer.name + "/shape", Tensor::of({static_cast<std::int64_t>(target->size())}, *target));
  patch.replace_node(outer, "Reshape", {inner.inputs[0], constant});
  return patch;
}

std::variant<Patch, Refusal> merge_reshapes(const Graph& graph, const Match& match) {
  if (leaves_extents_open(graph)) {
    return merge_open_reshapes(graph, match);
  }
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
                const Pattern reshape =
                    op_of({"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
                        .where(only_reshapes, "moves no axis but those of 1");
                return reshape.with(reshape.as("inner")).with_more();
              },
          .rewrite = merge_reshapes};
}
