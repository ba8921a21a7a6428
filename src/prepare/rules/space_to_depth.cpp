// Conv(Concat(x[::2, ::2], x[1::2, ::2], x[::2, 1::2], x[1::2, 1::2])) -> Conv(x) with strides
//
// Detectors begin so ("focus"), or with the operator SpaceToDepth. A kernel of twice the size
// that takes steps of two reads the same pixels, where they are.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/slice_axes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Every `step`th element along the axes of an image, from `start` on.
struct Grid {
  ValueId image;
  std::array<std::int64_t, 2> start{0, 0};
  std::array<std::int64_t, 2> step{1, 1};
};

/// Adds what the node picks; false where it is no such Slice.
bool add_slice(const Graph& graph, const Node& slice, Grid& grid) {
  const auto axes = slice_axes(graph, slice);
  if (!axes) {
    return false;
  }
  for (const AxisSlice& along : *axes) {
    if (along.axis < 2 || along.axis > 3 || !along.is_open() || along.start < 0 ||
        along.step < 1 || grid.step[along.axis - 2] != 1) {
      return false;
    }
    grid.start[along.axis - 2] = along.start;
    grid.step[along.axis - 2] = along.step;
  }
  return true;
}

std::optional<Grid> grid_of(const Graph& graph, ValueId value) {
  Grid grid;
  for (int i = 0; i < 2; ++i) {  // along one axis each, or both in one
    const auto producer = graph.producer(value);
    if (!producer || graph.node(*producer).op != "Slice" ||
        !add_slice(graph, graph.node(*producer), grid)) {
      break;
    }
    value = graph.node(*producer).inputs[0];
    if (grid.step[0] != 1 && grid.step[1] != 1) {
      break;
    }
  }
  grid.image = value;
  const bool is_part = grid.start[0] < grid.step[0] && grid.start[1] < grid.step[1];
  return grid.step[0] > 1 && grid.step[0] == grid.step[1] && is_part ? std::optional(grid)
                                                                     : std::nullopt;
}

/// Where the channels of a value come from: one grid of the same image for each group.
struct Blocks {
  ValueId image;
  std::int64_t size = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> starts;  ///< of rows and columns
};

std::optional<Blocks> blocks_of(const Graph& graph, const Node& node) {
  Blocks blocks;
  if (node.op == "SpaceToDepth") {
    constexpr std::int64_t kLargest = 16;
    blocks = {node.inputs[0], node.attributes.integer("blocksize"), {}};
    if (blocks.size < 2 || blocks.size > kLargest) {
      return std::nullopt;
    }
    for (std::int64_t i = 0; i < blocks.size * blocks.size; ++i) {
      blocks.starts.emplace_back(i / blocks.size, i % blocks.size);
    }
    return blocks;
  }
  if (normalized_axis(node.attributes.integer("axis"), 4) != 1) {
    return std::nullopt;
  }
  for (const ValueId part : node.inputs) {
    const auto grid = grid_of(graph, part);
    if (!grid || (blocks.image && blocks.image != grid->image) ||
        (blocks.size != 0 && blocks.size != grid->step[0])) {
      return std::nullopt;
    }
    blocks.image = grid->image;
    blocks.size = grid->step[0];
    blocks.starts.emplace_back(grid->start[0], grid->start[1]);
  }
  const std::set<std::pair<std::int64_t, std::int64_t>> all(blocks.starts.begin(),
                                                            blocks.starts.end());
  const auto wanted = static_cast<std::size_t>(blocks.size * blocks.size);
  return all.size() == wanted && blocks.starts.size() == wanted ? std::optional(blocks)
                                                                : std::nullopt;
}

/// [O, C, size * rows, size * columns] of [O, size^2 * C, rows, columns]
Tensor spread(const Tensor& kernel, const Blocks& blocks) {
  const Shape& shape = kernel.shape();
  const auto groups = static_cast<std::int64_t>(blocks.starts.size());
  const Shape spread_shape{shape[0], shape[1] / groups, shape[2] * blocks.size,
                           shape[3] * blocks.size};
  const auto from = kernel.view<float>();
  Tensor result(DType::kFloat32, spread_shape);
  const auto to = result.mutable_view<float>();
  const std::int64_t channels = spread_shape[1];
  std::size_t read = 0;
  for (std::int64_t o = 0; o < shape[0]; ++o) {
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      const auto& [row, column] = blocks.starts[static_cast<std::size_t>(c / channels)];
      const std::int64_t plane = o * channels + c % channels;
      for (std::int64_t y = 0; y < shape[2]; ++y) {
        for (std::int64_t x = 0; x < shape[3]; ++x) {
          const std::int64_t line = plane * spread_shape[2] + y * blocks.size + row;
          to[static_cast<std::size_t>(line * spread_shape[3] + x * blocks.size + column)] =
              from[read++];
        }
      }
    }
  }
  return result;
}

std::variant<Patch, Refusal> read_in_place(const Graph& graph, const Match& match) {
  const Node& conv = graph.node(match.root());
  const Tensor& kernel = *graph.constant(conv.inputs[1]);
  const auto ones = std::vector<std::int64_t>{1, 1};
  if (kernel.dtype() != DType::kFloat32 || kernel.shape().size() != 4 ||
      conv.attributes.integer("group", 1) != 1 ||
      conv.attributes.integers("dilations", ones) != ones ||
      conv.attributes.text("auto_pad", "NOTSET") != "NOTSET") {
    return Refusal{"its kernel has groups or gaps, or is none of images"};
  }
  const auto blocks = blocks_of(graph, graph.node(match.node("blocks")));
  const Shape& image = blocks ? graph.type(blocks->image).shape : Shape();
  if (!blocks || image.size() != 4 ||
      image[1] * static_cast<std::int64_t>(blocks->starts.size()) != kernel.shape()[1]) {
    return Refusal{"its channels are no pixels of an image's blocks"};
  }
  Patch patch(graph);
  const Tensor larger = spread(kernel, *blocks);
  const auto scaled = [&](const char* name, std::vector<std::int64_t> fallback) {
    std::vector<std::int64_t> numbers = conv.attributes.integers(name, std::move(fallback));
    std::ranges::for_each(numbers, [&](std::int64_t& n) { n *= blocks->size; });
    return numbers;
  };
  Attributes attributes = conv.attributes;
  attributes.set("kernel_shape",
                 std::vector<std::int64_t>{larger.shape()[2], larger.shape()[3]});
  attributes.set("strides", scaled("strides", ones));
  attributes.set("pads", scaled("pads", {0, 0, 0, 0}));
  std::vector<ValueId> operands = conv.inputs;
  operands[0] = blocks->image;
  operands[1] = patch.add_constant(graph.name(conv.inputs[1]), larger);
  patch.replace_node(conv, "Conv", operands, attributes);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(space_to_depth) {
  using namespace tare;
  return {.name = "space_to_depth",
          .summary = "reads an image in place where it was made smaller with more channels",
          .benefit = 50,
          .pattern =
              [] {
                return op("Conv")
                    .with(op_of({"Concat", "SpaceToDepth"}).single_use().as("blocks"),
                          constant())
                    .with_more();
              },
          .rewrite = read_in_place};
}
