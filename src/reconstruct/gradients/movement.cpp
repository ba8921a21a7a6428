// Operators that only move elements: a gradient goes back to where its element came from, and
// is summed where an element went to several places.
#include "tare/error.h"

#include "reconstruct/gradient_rule.h"

#include <algorithm>
#include <numeric>

namespace tare {
namespace {

using C = GradientContext;

std::size_t positive_axis(C& c, std::int64_t fallback) {
  return normalized_axis(c.attributes().integer("axis", fallback), c.shape(c.input(0)).size());
}

void same_elements(C& c) {
  c.give(0, c.reshape(c.gradient(), c.shape(c.input(0))));
}

void transpose(C& c) {
  const std::size_t rank = c.shape(c.input(0)).size();
  std::vector<std::int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto order = c.attributes().integers("perm", reversed);
  std::vector<std::int64_t> back(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  c.give(0, c.transpose(c.gradient(), back));
}

/// Extents [first, first + count) of an axis.
ValueId part(C& c, ValueId value, std::size_t axis, std::int64_t first, std::int64_t count) {
  Shape shape = c.shape(value);
  shape[axis] = count;
  return c.add("Slice",
               {value, c.list({first}), c.list({first + count}),
                c.list({static_cast<std::int64_t>(axis)}), c.list({1})},
               shape);
}

void concat(C& c) {
  const auto axis = normalized_axis(c.attributes().integer("axis"), c.shape(c.output()).size());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
    const std::int64_t count = c.shape(c.input(i))[axis];
    if (c.wants(i)) {
      c.give(i, part(c, c.gradient(), axis, first, count));
    }
    first += count;
  }
}

void split(C& c) {
  const std::size_t axis = positive_axis(c, 0);
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < c.node().outputs.size(); ++i) {
    parts.push_back(c.gradient(i));
  }
  c.give(0, c.add("Concat", parts, c.shape(c.input(0)),
                  {{"axis", static_cast<std::int64_t>(axis)}}));
}

/// Adds rows of `value` along an axis to zeros, the i-th at position places[i].
ValueId scatter(C& c, ValueId value, std::size_t axis, const std::vector<std::int64_t>& places,
                std::int64_t extent) {
  Shape shape = c.shape(value);
  Tensor indices(DType::kInt64, shape);
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) {
    inner *= shape[i];
  }
  const auto elements = indices.mutable_view<std::int64_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / inner % shape[axis];
    elements[i] = places[static_cast<std::size_t>(row)];
  }
  shape[axis] = extent;
  return c.add("ScatterElements", {c.zeros(shape), c.constant(indices), value}, shape,
               {{"axis", static_cast<std::int64_t>(axis)}, {"reduction", std::string("add")}});
}

void slice(C& c) {
  const Shape& shape = c.shape(c.input(0));
  const auto starts = c.integers(1);
  std::vector<std::int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = c.has_input(3) ? c.integers(3) : axes;
  const auto steps =
      c.has_input(4) ? c.integers(4) : std::vector<std::int64_t>(starts.size(), 1);
  ValueId gradient = c.gradient();
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], shape.size());
    const std::int64_t extent = shape[axis];
    if (c.shape(gradient)[axis] == extent && steps[i] == 1) {
      continue;
    }
    const std::int64_t from = starts[i] < 0 ? starts[i] + extent : starts[i];
    const std::int64_t first =
        std::clamp<std::int64_t>(from, 0, steps[i] > 0 ? extent : extent - 1);
    std::vector<std::int64_t> places(static_cast<std::size_t>(c.shape(gradient)[axis]));
    for (std::size_t k = 0; k < places.size(); ++k) {
      places[k] = first + static_cast<std::int64_t>(k) * steps[i];
    }
    gradient = scatter(c, gradient, axis, places, extent);
  }
  c.give(0, gradient);
}

void pad(C& c) {
  if (c.attributes().text("mode", "constant") != "constant") {
    throw Error(ErrorCode::kUnsupported, "", "has no known derivative in that mode")
        .expected("constant");
  }
  const Shape& shape = c.shape(c.input(0));
  const auto pads = c.integers(1);
  std::vector<std::int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = c.has_input(3) ? c.integers(3) : axes;
  // Elements that were cut off get zeros, and those that were added are cut off.
  std::vector<std::int64_t> back(2 * shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], shape.size());
    back[axis] = -pads[i];
    back[axis + shape.size()] = -pads[i + axes.size()];
  }
  c.give(0, c.add("Pad", {c.gradient(), c.list(back)}, shape));
}

void expand(C& c) {
  c.give(0, c.sum_to(c.gradient(), c.shape(c.input(0))));
}

/// The copies of each axis become one of their own, over which the gradient is summed.
void tile(C& c) {
  const Shape& shape = c.shape(c.input(0));
  Shape split_shape;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(split_shape.size()));
    split_shape.push_back(shape[i] == 0 ? 1 : c.shape(c.output())[i] / shape[i]);
    split_shape.push_back(shape[i]);
  }
  c.give(0, c.reshape(c.sum(c.reshape(c.gradient(), split_shape), axes), shape));
}

/// Rows of one axis, by constant indices.
void gather(C& c) {
  const std::size_t axis = positive_axis(c, 0);
  const Shape& shape = c.shape(c.input(0));
  std::vector<std::int64_t> places = c.integers(1);
  for (std::int64_t& place : places) {
    place += place < 0 ? shape[axis] : 0;
  }
  Shape rows = shape;
  rows[axis] = static_cast<std::int64_t>(places.size());
  c.give(0, scatter(c, c.reshape(c.gradient(), rows), axis, places, shape[axis]));
}

void gather_elements(C& c) {
  c.give(0, c.add("ScatterElements", {c.zeros(c.shape(c.input(0))), c.input(1), c.gradient()},
                  c.shape(c.input(0)),
                  {{"axis", static_cast<std::int64_t>(positive_axis(c, 0))},
                   {"reduction", std::string("add")}}));
}

/// [N, C, H, W] with the blocks of the larger image as axes; `column_first`: as mode CRD.
struct Blocks {
  Shape split;                      ///< of the deep tensor
  std::vector<std::int64_t> order;  ///< of its axes, in which they become the wide tensor
};

Blocks blocks_of(const Shape& deep, std::int64_t size, bool column_first) {
  const std::int64_t channels = deep[1] / (size * size);
  if (column_first) {
    return {{deep[0], channels, size, size, deep[2], deep[3]}, {0, 1, 4, 2, 5, 3}};
  }
  return {{deep[0], size, size, channels, deep[2], deep[3]}, {0, 3, 4, 1, 5, 2}};
}

void depth_to_space(C& c) {
  const Shape& deep = c.shape(c.input(0));
  const Blocks blocks = blocks_of(deep, c.attributes().integer("blocksize"),
                                  c.attributes().text("mode", "DCR") == "CRD");
  Shape wide;
  std::vector<std::int64_t> back(blocks.order.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    wide.push_back(blocks.split[static_cast<std::size_t>(blocks.order[i])]);
    back[static_cast<std::size_t>(blocks.order[i])] = static_cast<std::int64_t>(i);
  }
  c.give(0, c.reshape(c.transpose(c.reshape(c.gradient(), wide), back), deep));
}

void space_to_depth(C& c) {
  c.give(0, c.add("DepthToSpace", {c.gradient()}, c.shape(c.input(0)),
                  {{"blocksize", c.attributes().integer("blocksize")},
                   {"mode", std::string("DCR")}}));
}

/// Between types of floats; integers have no derivative and ask for none.
void cast(C& c) {
  if (c.dtype(c.output()) != DType::kFloat32) {
    throw Error(ErrorCode::kUnsupported, "", "has no derivative");
  }
  c.give(0, c.gradient());
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(movement) {
  using namespace tare;
  return {
      {{"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Dropout"}, same_elements},
      {{"Transpose"}, transpose},
      {{"Concat"}, concat},
      {{"Split"}, split},
      {{"Slice"}, slice},
      {{"Pad"}, pad},
      {{"Expand"}, expand},
      {{"Tile"}, tile},
      {{"Gather"}, gather},
      {{"GatherElements"}, gather_elements},
      {{"DepthToSpace"}, depth_to_space},
      {{"SpaceToDepth"}, space_to_depth},
      {{"Cast"}, cast},
  };
}
