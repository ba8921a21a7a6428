// Finds chains of nodes that one kernel can run: a product, then activations, a residual,
// factors or the rounding to storage values, as long as each result is read once. Greedy, in
// topological order. A chain runs where its last node would, as only then all of its operands
// are there. Linear in the graph.
#include "execute/compile/fuse.h"

#include "tare/graph.h"

#include "execute/elements/rounding.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>

namespace tare {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A bound of Clip: `fallback` when absent, nothing when it is not one known float.
std::optional<float> bound(const Graph& graph, const Node& node, std::size_t operand,
                           float fallback) {
  if (operand >= node.inputs.size() || !node.inputs[operand]) {
    return fallback;
  }
  const Tensor* tensor = graph.constant(node.inputs[operand]);
  if (tensor == nullptr || tensor->size() != 1 || tensor->dtype() != DType::kFloat32) {
    return std::nullopt;
  }
  return tensor->view<float>()[0];
}

std::optional<FoldedOp> relu(const Graph&, const Node&, ValueId) {
  return FoldedOp{{.kind = PostOp::Kind::kClip, .low = 0, .high = kInfinity, .operand = 0}, {}};
}

std::optional<FoldedOp> clip(const Graph& graph, const Node& node, ValueId value) {
  const auto low = bound(graph, node, 1, -kInfinity);
  const auto high = bound(graph, node, 2, kInfinity);
  // oneDNN knows no bounds that are NaN or the wrong way round; a node of its own does.
  if (!low || !high || !(*low <= *high) || node.inputs[0] != value) {
    return std::nullopt;
  }
  return FoldedOp{{.kind = PostOp::Kind::kClip, .low = *low, .high = *high, .operand = 0}, {}};
}

/// A residual: the other operand is computed and of the same shape.
std::optional<FoldedOp> add(const Graph& graph, const Node& node, ValueId value) {
  const ValueId other = node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
  const TensorType& type = graph.type(other);
  if (other == value || graph.constant(other) != nullptr || type.dtype != DType::kFloat32 ||
      type.shape != graph.type(value).shape) {
    return std::nullopt;
  }
  return FoldedOp{{.kind = PostOp::Kind::kAdd, .low = 0, .high = 0, .operand = 0}, other};
}

bool has_zero_points(const QuantParams& params) {
  return std::any_of(params.zero_point.begin(), params.zero_point.end(),
                     [](std::int32_t zero) { return zero != 0; });
}

/// Of accumulators in a simulated graph, whose zero point is 0.
std::optional<FoldedOp> dequantize(const Graph& graph, const Node&, ValueId value) {
  const auto& params = graph.type(value).quant;
  if (!params || has_zero_points(*params)) {
    return std::nullopt;
  }
  return FoldedOp{{.kind = PostOp::Kind::kScale,
                   .factors = params->scale.to_vector(),
                   .axis = params->axis},
                  {}};
}

/// Of sums in int32 to bytes, in the usual arithmetic. Attributes that say anything else, or
/// that no kernel would take, are for the node's own kernel.
std::optional<FoldedOp> requantize(const Graph& graph, const Node& node, ValueId value) {
  const auto& from = graph.type(value).quant;
  const auto& to = graph.type(node.outputs[0]).quant;
  if (!from || !to || from->storage != DType::kInt32 || has_zero_points(*from) ||
      size_of(to->storage) != 1 || to->per_axis() ||
      (!node.attributes.items().empty() &&
       !(node.attributes == to_attributes(RequantizeMode{})))) {
    return std::nullopt;
  }
  std::vector<float> factors;
  std::transform(from->scale.begin(), from->scale.end(), std::back_inserter(factors),
                 [&](float scale) { return float_factor(scale_ratio(scale, to->scale[0])); });
  return FoldedOp{
      {.kind = PostOp::Kind::kRequantize, .factors = std::move(factors), .axis = from->axis},
      {}};
}

struct FoldRule {
  std::string_view op;
  std::optional<FoldedOp> (*fold)(const Graph&, const Node&, ValueId);
  bool to_storage = false;  ///< else to f32
};

constexpr std::array kRules{FoldRule{"Relu", relu}, FoldRule{"Clip", clip},
                            FoldRule{"Add", add}, FoldRule{"SimulatedDequantize", dequantize},
                            FoldRule{"Requantize", requantize, true}};

bool takes_post_ops(const std::string& op) {
  const auto& kernels = kernel_registry();
  return std::any_of(kernels.begin(), kernels.end(), [&](const KernelInfo& info) {
    return info.fuses_post_ops &&
           std::find(info.ops.begin(), info.ops.end(), op) != info.ops.end();
  });
}

}  // namespace

std::optional<FoldedOp> as_post_op(const Graph& graph, const Node& node, ValueId value) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                 [&](const FoldRule& r) { return r.op == node.op; });
  if (rule == kRules.end() ||
      (graph.type(node.outputs[0]).dtype != DType::kFloat32) != rule->to_storage ||
      graph.type(node.outputs[0]).shape != graph.type(value).shape) {
    return std::nullopt;
  }
  return rule->fold(graph, node, value);
}

std::vector<Unit> fuse(const Graph& graph, std::span<const NodeId> order,
                       const std::set<ValueId>& kept) {
  std::map<NodeId, std::size_t> position;
  for (std::size_t i = 0; i < order.size(); ++i) {
    position[order[i]] = i;
  }
  std::vector<bool> taken(order.size(), false);
  std::map<std::size_t, Unit>
      units;  // by the position of the last node: all operands exist then
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (taken[i]) {
      continue;
    }
    Unit unit{order[i], {}};
    std::size_t last = i;
    ValueId value = graph.node(order[i]).outputs[0];
    bool open = takes_post_ops(graph.node(order[i]).op);
    while (open && graph.single_use(value) && !kept.contains(value)) {
      const NodeId user = graph.users(value).front();
      const auto found = position.find(user);
      open = found != position.end() && !taken[found->second] &&
             as_post_op(graph, graph.node(user), value).has_value();
      if (open) {
        last = found->second;
        taken[last] = true;
        unit.folded.push_back(user);
        value = graph.node(user).outputs[0];
      }
    }
    units.emplace(last, std::move(unit));
  }
  std::vector<Unit> result;
  result.reserve(units.size());
  for (auto& [last, unit] : units) {
    result.push_back(std::move(unit));
  }
  return result;
}

}  // namespace tare
