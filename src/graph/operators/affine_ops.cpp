// The operators that may run on storage values, each with the reason. What moves elements, or
// picks them by their order, gives the same before and after rounding; others round once by
// themselves. Everything that moves conversions asks this table, so a row is all that an
// operator needs. docs/quantization_math.md says what each rule means.
#include "graph/operators/affine_ops.h"

#include "tare/graph.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

constexpr auto kMoves = AffineRule::kMoves;
constexpr auto kRounds = AffineRule::kRounds;
constexpr auto kTabulates = AffineRule::kTabulates;
constexpr std::string_view kFunction = "one result for each storage value";

bool picks_nearest(const Graph&, const Node& node) {
  return node.attributes.text("mode", "nearest") == "nearest" &&
         node.attributes.text("coordinate_transformation_mode", "half_pixel") !=
             "tf_crop_and_resize";
}

/// What a Pad puts around is real 0, which every storage type holds, or what was there.
bool pads_exactly(const Graph& graph, const Node& node) {
  if (node.attributes.text("mode", "constant") != "constant" || node.inputs.size() < 3 ||
      !node.inputs[2]) {
    return true;
  }
  const Tensor* value = graph.constant(node.inputs[2]);
  return value != nullptr && value->to_double() == std::vector<double>{0};
}

/// Mean and deviation are real values that storage has no parameters for.
bool has_one_result(const Graph&, const Node& node) {
  return node.outputs.size() == 1;
}

bool pads_constant(const Graph& graph, const Node& node) {
  return graph.constant(node.inputs[2]) != nullptr;
}

// clang-format off: a table reads best as one
const auto& rows() {
  static const std::array kAffineOps{
      AffineOp{"Abs", kTabulates, false, kFunction},
      AffineOp{"Add", kRounds, true, "adds expressed values and rounds once"},
      AffineOp{"ArgMax", AffineRule::kCompares, false, "scales are positive, so order is kept"},
      AffineOp{"ArgMin", AffineRule::kCompares, false, "scales are positive, so order is kept"},
      AffineOp{"AveragePool", kRounds, false, "sums storage values, divides and rounds once"},
      AffineOp{"BatchNormalization", kRounds, false, "scales expressed values and rounds once",
               has_one_result},
      AffineOp{"Ceil", kTabulates, false, kFunction},
      AffineOp{"Celu", kTabulates, false, kFunction},
      AffineOp{"Clip", AffineRule::kClamps, false,
               "keeps order; saturates at two rounded bounds"},
      AffineOp{"Concat", kRounds, true, "brings each operand to the result's parameters"},
      AffineOp{"Cos", kTabulates, false, kFunction},
      AffineOp{"DepthToSpace", kMoves, false, "moves elements"},
      AffineOp{"Div", kRounds, true, "divides expressed values and rounds once"},
      AffineOp{"Elu", kTabulates, false, kFunction},
      AffineOp{"Erf", kTabulates, false, kFunction},
      AffineOp{"Exp", kTabulates, false, kFunction},
      AffineOp{"Expand", kMoves, false, "repeats elements"},
      AffineOp{"Flatten", kMoves, false, "moves elements"},
      AffineOp{"Floor", kTabulates, false, kFunction},
      AffineOp{"Gather", kMoves, false, "moves elements"},
      AffineOp{"GatherElements", kMoves, false, "moves elements"},
      AffineOp{"GatherND", kMoves, false, "moves elements"},
      AffineOp{"Gelu", kTabulates, false, kFunction},
      AffineOp{"GlobalAveragePool", kRounds, false,
               "sums storage values, divides and rounds once"},
      AffineOp{"GlobalMaxPool", kMoves, false, "picks by order, and scales are positive"},
      AffineOp{"HardSigmoid", kTabulates, false, kFunction},
      AffineOp{"HardSwish", kTabulates, false, kFunction},
      AffineOp{"InstanceNormalization", kRounds, false,
               "normalizes expressed values and rounds once"},
      AffineOp{"LayerNormalization", kRounds, false,
               "normalizes expressed values and rounds once", has_one_result},
      AffineOp{"LeakyRelu", kTabulates, false, kFunction},
      AffineOp{"Log", kTabulates, false, kFunction},
      AffineOp{"LpNormalization", kRounds, false, "on expressed values; rounds once"},
      AffineOp{"Max", kRounds, true, "picks by expressed order and rounds once"},
      AffineOp{"MaxPool", kMoves, false, "picks by order, and scales are positive"},
      AffineOp{"Min", kRounds, true, "picks by expressed order and rounds once"},
      AffineOp{"Mish", kTabulates, false, kFunction},
      AffineOp{"Mul", kRounds, true, "multiplies expressed values and rounds once"},
      AffineOp{"Neg", kTabulates, false, kFunction},
      AffineOp{"PRelu", kRounds, false,
               "multiplies by constant slopes below 0 and rounds once"},
      AffineOp{"Pad", kMoves, false, "moves elements; real 0, the usual padding, is exact",
               pads_exactly},
      AffineOp{"Pad", AffineRule::kClamps, false,
               "moves elements, and puts a rounded constant around", pads_constant},
      AffineOp{"Reciprocal", kTabulates, false, kFunction},
      AffineOp{"ReduceMax", kMoves, false, "picks by order, and scales are positive"},
      AffineOp{"ReduceMean", kRounds, false, "sums storage values, divides and rounds once"},
      AffineOp{"ReduceMin", kMoves, false, "picks by order, and scales are positive"},
      AffineOp{"ReduceSum", kRounds, false, "sums storage values and rounds once"},
      AffineOp{"Relu", AffineRule::kRectifies, false,
               "max with the zero point, where real 0 is exact"},
      AffineOp{"Reshape", kMoves, false, "moves elements"},
      AffineOp{"Resize", kMoves, false, "picks the nearest element", picks_nearest},
      AffineOp{"Resize", kRounds, false, "weighs neighbours and rounds once"},
      AffineOp{"Round", kTabulates, false, kFunction},
      AffineOp{"Rsqrt", kTabulates, false, kFunction},
      AffineOp{"Selu", kTabulates, false, kFunction},
      AffineOp{"Shape", AffineRule::kCompares, false, "a shape is that of the storage values"},
      AffineOp{"Sigmoid", kTabulates, false, kFunction},
      AffineOp{"Sign", kTabulates, false, kFunction},
      AffineOp{"Sin", kTabulates, false, kFunction},
      AffineOp{"Size", AffineRule::kCompares, false, "a size is that of the storage values"},
      AffineOp{"Slice", kMoves, false, "moves elements"},
      AffineOp{"Softmax", kRounds, false, "on expressed values; rounds once"},
      AffineOp{"Softplus", kTabulates, false, kFunction},
      AffineOp{"Softsign", kTabulates, false, kFunction},
      AffineOp{"SpaceToDepth", kMoves, false, "moves elements"},
      AffineOp{"Split", kMoves, false, "moves elements"},
      AffineOp{"Sqrt", kTabulates, false, kFunction},
      AffineOp{"Squeeze", kMoves, false, "moves elements"},
      AffineOp{"Sub", kRounds, true, "subtracts expressed values and rounds once"},
      AffineOp{"Tanh", kTabulates, false, kFunction},
      AffineOp{"ThresholdedRelu", kTabulates, false, kFunction},
      AffineOp{"Tile", kMoves, false, "repeats elements"},
      AffineOp{"TopK", kMoves, false, "picks by order, and scales are positive"},
      AffineOp{"Transpose", kMoves, false, "moves elements"},
      AffineOp{"Unsqueeze", kMoves, false, "moves elements"},
  };
  return kAffineOps;
}
// clang-format on

std::int64_t elements_after(const Shape& shape, std::size_t axis) {
  return element_count(
      Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
}

/// The axis of `to` with the extent and the stride that `axis` of `from` has, in row-major
/// order.
std::optional<int> same_stride(const Shape& from, const Shape& to, int axis) {
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == from[at] && elements_after(to, i) == elements_after(from, at)) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

bool only_reshapes(const Node& node) {
  return node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" ||
         node.op == "Unsqueeze";
}

std::vector<std::int64_t> permutation(const Node& node, std::size_t rank) {
  std::vector<std::int64_t> reversed(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    reversed[i] = static_cast<std::int64_t>(rank - 1 - i);
  }
  return node.attributes.integers("perm", reversed);
}

}  // namespace

bool is_activation(const Node& node) {
  return node.op == "Relu" || node.op == "Clip";
}

std::span<const AffineOp> affine_ops() {
  return rows();
}

std::span<const AffineOp> affine_ops(const Graph& graph) {
  return graph.affine_rows ? std::span<const AffineOp>(*graph.affine_rows) : affine_ops();
}

const AffineOp* find_affine_op(const Graph& graph, const Node& node) {
  const std::span<const AffineOp> rows = affine_ops(graph);
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const AffineOp& row) {
    return row.op == node.op && (!row.applies || row.applies(graph, node));
  });
  return found == rows.end() ? nullptr : &*found;
}

std::optional<int> axis_of_result(const Graph& graph, const Node& node, int axis) {
  const Shape& from = graph.type(node.inputs[0]).shape;
  if (is_activation(node)) {
    return axis;
  }
  if (only_reshapes(node)) {
    return same_stride(from, graph.type(node.outputs[0]).shape, axis);
  }
  if (node.op == "Transpose") {
    const auto order = permutation(node, from.size());
    return static_cast<int>(std::find(order.begin(), order.end(), axis) - order.begin());
  }
  return std::nullopt;
}

std::optional<int> axis_of_operand(const Graph& graph, const Node& node, int axis) {
  const Shape& from = graph.type(node.inputs[0]).shape;
  if (is_activation(node)) {
    return axis;
  }
  if (only_reshapes(node)) {
    return same_stride(graph.type(node.outputs[0]).shape, from, axis);
  }
  if (node.op == "Transpose") {
    return static_cast<int>(permutation(node, from.size())[static_cast<std::size_t>(axis)]);
  }
  return std::nullopt;
}

}  // namespace tare
