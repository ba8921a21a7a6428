// Finds which channels of a network have to be scaled alike. Channels are the elements of a
// union-find structure with path halving. A node that hands scales on unites the channels of
// its operands with those of its results; any other node fixes the channels that it touches.
// Where a node moves elements around, it is run once on the numbers of the channels, and their
// places in the result show where they went: no rule for each such operator has to be written
// and kept right.
//
// Cost: nearly linear in the number of channels, and one run of each node that moves elements.
#include "equalize/channel_classes.h"

#include "tare/execute.h"

#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace tare {
namespace {

bool is_one_of(std::span<const std::string_view> ops, const std::string& op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

/// In one entry of the batch, where they lie next to each other.
std::size_t elements_of_channel(const Shape& shape) {
  return static_cast<std::size_t>(element_count(Shape(shape.begin() + 2, shape.end())));
}

bool is_number(const Graph& graph, ValueId value, auto condition) {
  const Tensor* constant = value ? graph.constant(value) : nullptr;
  return !value || (constant != nullptr && constant->size() == 1 &&
                    condition(constant->to_double().at(0)));
}

/// Up to it every integer is a float32.
constexpr std::size_t kLargestNumber = 1 << 24;

/// A bound other than 0 stays where it is while channels are divided, and cuts them elsewhere.
bool clips_at_zero_or_nowhere(const Graph& graph, const Node& node) {
  const auto operand = [&](std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : ValueId{};
  };
  constexpr double kNowhere = std::numeric_limits<double>::infinity();
  return node.op == "Clip" &&
         is_number(graph, operand(1),
                   [](double low) { return low == 0 || low == -kNowhere; }) &&
         is_number(graph, operand(2),
                   [](double high) { return high == 0 || high == kNowhere; });
}

bool means_over_positions(const Graph& graph, const Node& node) {
  if (node.op != "ReduceMean" || node.inputs.size() != 1) {
    return false;
  }
  const auto rank = static_cast<std::int64_t>(graph.type(node.inputs[0]).shape.size());
  const auto axes = node.attributes.integers("axes", {0});
  return std::none_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    const std::int64_t at = axis < 0 ? axis + rank : axis;
    return at < 2;
  });
}

/// Each channel is computed of itself, and no number of the node's own comes in.
bool resizes_positions(const Graph& graph, const Node& node) {
  if (node.op != "Resize" || node.attributes.text("coordinate_transformation_mode",
                                                  "half_pixel") == "tf_crop_and_resize") {
    return false;
  }
  if (node.inputs.size() < 3 || !node.inputs[2]) {
    return true;  // sizes: those of channels are equal, or these are not handed on
  }
  const Tensor* scales = graph.constant(node.inputs[2]);
  return scales != nullptr && scales->size() > 1 && scales->to_double()[1] == 1;
}

/// Each channel of the result depends on the same channel of the first operand alone, in
/// proportion for positive factors.
bool is_proportional(const Graph& graph, const Node& node) {
  constexpr std::array<std::string_view, 6> kAlways{
      "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LeakyRelu", "MaxPool", "Relu"};
  return is_one_of(kAlways, node.op) ||
         (node.op == "PRelu" && graph.constant(node.inputs[1]) != nullptr) ||
         clips_at_zero_or_nowhere(graph, node) || means_over_positions(graph, node) ||
         resizes_positions(graph, node);
}

/// Operators that move elements, wherever these go. Those that pick by order do not count.
bool moves_elements(const Graph& graph, const Node& node) {
  constexpr std::array<std::string_view, 5> kByOrder{"GlobalMaxPool", "MaxPool", "ReduceMax",
                                                     "ReduceMin", "TopK"};
  const AffineOp* row = find_affine_op(graph, node);
  return row != nullptr && (row->rule == AffineRule::kMoves || node.op == "Concat") &&
         !is_one_of(kByOrder, node.op);
}

}  // namespace

ChannelClasses::ChannelClasses(const Graph& graph, Predicate take)
    : graph_(graph), take_(std::move(take)) {
  for (const ValueId value : graph.values()) {
    add(value);
  }
  for (const ValueId input : graph.inputs()) {
    fix(input);
  }
  for (const ValueId output : graph.outputs()) {
    fix(output);
  }
  for (const NodeId id : graph.topological_order()) {
    visit(graph.node(id));
  }
  // Parents come first, so that each class has been found when it is asked for.
  for (std::size_t& parent : parents_) {
    parent = parents_[parent];
  }
}

bool ChannelClasses::takes_factors(const Node& node) const {
  if (!is_product(node) || channels(node.inputs[0]) == 0 || !take_(node)) {
    return false;
  }
  const auto is_own = [&](ValueId constant) {
    return graph_.constant(constant) != nullptr &&
           graph_.type(constant).dtype == DType::kFloat32 && graph_.single_use(constant);
  };
  const bool is_matrix = node.op == "Gemm" || node.op == "MatMul";
  const auto is_plain_matrix = [&](ValueId value) {
    return graph_.type(value).shape.size() == 2;
  };
  const auto is_own_row = [&](ValueId bias) {
    const Shape& shape = graph_.type(bias).shape;
    const auto results = static_cast<std::int64_t>(channels(node.outputs[0]));
    return is_own(bias) && !shape.empty() && shape.back() == results &&
           element_count(shape) == results;
  };
  return is_own(node.inputs[1]) && graph_.constant(node.inputs[1])->size() > 0 &&
         (!is_matrix || (is_plain_matrix(node.inputs[0]) && is_plain_matrix(node.inputs[1]) &&
                         node.attributes.integer("transA", 0) == 0)) &&
         (node.inputs.size() < 3 || !node.inputs[2] || is_own_row(node.inputs[2]));
}

std::vector<std::optional<std::size_t>> ChannelClasses::of(ValueId value) const {
  std::vector<std::optional<std::size_t>> result(channels(value));
  for (std::size_t c = 0; c < result.size(); ++c) {
    const std::size_t own = parents_[first_.at(value) + c];
    if (!fixed_[own]) {
      result[c] = own;
    }
  }
  return result;
}

void ChannelClasses::add(ValueId value) {
  const TensorType& type = graph_.type(value);
  if (graph_.constant(value) != nullptr || type.dtype != DType::kFloat32 ||
      type.shape.size() < 2) {
    return;
  }
  first_.emplace(value, parents_.size());
  for (std::int64_t c = 0; c < type.shape[1]; ++c) {
    parents_.push_back(parents_.size());
    fixed_.push_back(false);
  }
}

void ChannelClasses::visit(const Node& node) {
  if (takes_factors(node) || hand_on(node)) {
    return;
  }
  for (const auto& values : {node.inputs, node.outputs}) {
    for (const ValueId value : values) {
      fix(value);
    }
  }
}

/// Whether the node scales what it computes as its operands are scaled.
bool ChannelClasses::hand_on(const Node& node) {
  const ValueId x = node.inputs.empty() ? ValueId{} : node.inputs[0];
  const ValueId y = node.outputs[0];
  if (channels(x) == 0 || channels(y) == 0) {
    return false;
  }
  const auto is_constant = [&](ValueId value) { return graph_.constant(value) != nullptr; };
  const auto has_channels = [&](ValueId value) { return channels(value) == channels(y); };
  const auto lines_up = [&](ValueId value) {
    return has_channels(value) &&
           graph_.type(value).shape.size() == graph_.type(y).shape.size();
  };
  if (node.op == "Add" || node.op == "Sub" || node.op == "Sum") {
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), lines_up)) {
      return false;
    }
    for (const ValueId operand : node.inputs) {
      join(operand, y);
    }
    return true;
  }
  if (node.op == "Mul" || node.op == "Div") {
    const bool by_constant =
        is_constant(node.inputs[1]) && graph_.type(x).shape == graph_.type(y).shape;
    if (by_constant) {
      join(x, y);
    }
    return by_constant;
  }
  if (is_proportional(graph_, node) && has_channels(x)) {
    join(x, y);
    return true;
  }
  // Where nothing can be scaled, it does not matter where it goes.
  const auto can_scale = [&](ValueId value) {
    for (std::size_t c = 0; c < channels(value); ++c) {
      if (!fixed_[root(first_.at(value) + c)]) {
        return true;
      }
    }
    return false;
  };
  return moves_elements(graph_, node) &&
         std::any_of(node.inputs.begin(), node.inputs.end(), can_scale) && follow(node);
}

/// Runs the node on the numbers of channels, and sees where they go. What it puts around is 0,
/// which any factor leaves alone. Constants among what it moves would have to be scaled, too.
bool ChannelClasses::follow(const Node& node) {
  std::vector<Tensor> numbered(node.inputs.size());
  std::vector<const Tensor*> operands(node.inputs.size());
  std::vector<std::size_t> channel_of{0};  // by number; 0 is put around
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!input) {
      continue;
    }
    operands[i] = graph_.constant(input);
    if (operands[i] != nullptr && node.op != "Concat") {
      continue;
    }
    if (channels(input) == 0 || channel_of.size() + channels(input) > kLargestNumber) {
      return false;
    }
    const Shape& shape = graph_.type(input).shape;
    numbered[i] = Tensor(DType::kFloat32, shape);
    const auto values = numbered[i].mutable_view<float>();
    const std::size_t length = elements_of_channel(shape);
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(channel_of.size() + k / length % channels(input));
    }
    for (std::size_t c = 0; c < channels(input); ++c) {
      channel_of.push_back(first_.at(input) + c);
    }
    operands[i] = &numbered[i];
  }
  std::vector<TensorType> types;
  for (const ValueId output : node.outputs) {
    if (channels(output) == 0) {
      return false;
    }
    types.push_back(graph_.type(output));
  }
  const std::vector<Tensor> moved = evaluate(node, operands, types);
  for (std::size_t o = 0; o < moved.size(); ++o) {
    const ValueId output = node.outputs[o];
    const auto values = moved[o].view<float>();
    const std::size_t length = elements_of_channel(types[o].shape);
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k] != 0) {
        join(channel_of[static_cast<std::size_t>(values[k])],
             first_.at(output) + k / length % channels(output));
      }
    }
  }
  return true;
}

void ChannelClasses::join(ValueId a, ValueId b) {
  for (std::size_t c = 0; c < channels(a); ++c) {
    join(first_.at(a) + c, first_.at(b) + c);
  }
}

void ChannelClasses::join(std::size_t a, std::size_t b) {
  const std::size_t kept = std::min(root(a), root(b));
  const std::size_t other = std::max(root(a), root(b));
  fixed_[kept] = fixed_[kept] || fixed_[other];
  parents_[other] = kept;
}

void ChannelClasses::fix(ValueId value) {
  for (std::size_t c = 0; c < channels(value); ++c) {
    fixed_[root(first_.at(value) + c)] = true;
  }
}

std::size_t ChannelClasses::root(std::size_t channel) {
  while (parents_[channel] != channel) {
    parents_[channel] = parents_[parents_[channel]];
    channel = parents_[channel];
  }
  return channel;
}

std::size_t ChannelClasses::channels(ValueId value) const {
  return first_.contains(value) ? static_cast<std::size_t>(graph_.type(value).shape[1]) : 0;
}

}  // namespace tare
