#include "lower/raw_storage.h"

#include "graph/affine_ops.h"
#include "lower/conversions.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Means the same on raw integers as on what they stand for, whatever the parameters.
bool moves_raw(const Graph& graph, const Node& node) {
  const AffineOp* row = find_affine_op(graph, node);
  return row != nullptr && row->rule == AffineRule::kMoves && node.op != "Pad";
}

void set_parameters(Graph& graph, ValueId value, const QuantParams& params) {
  TensorType type = graph.type(value);
  type.quant = params;
  graph.set_type(value, type);
}

using AxisMap = std::optional<int> (*)(const Graph&, const Node&, int);

/// Nothing when channels do not stay together.
std::optional<QuantParams> with_axis(QuantParams params, AxisMap map, const Graph& graph,
                                     const Node& node) {
  if (params.axis) {
    params.axis = map(graph, node, *params.axis);
    return params.axis ? std::optional(params) : std::nullopt;
  }
  return params;
}

/// What a constant of raw storage values stands for; absent when it is computed.
ValueId expressed_constant(Graph& graph, ValueId raw, const QuantParams& params) {
  const Tensor* constant = graph.constant(raw);
  return constant == nullptr
             ? ValueId{}
             : graph.add_constant(graph.unique_name(graph.name(raw) + "_expressed"),
                                  dequantize(*constant, params));
}

/// The raw integer 0.
ValueId expressed_zero(Graph& graph, const Node& node, const QuantParams& params) {
  return graph.add_constant(graph.unique_name(node.name + "_zero"),
                            dequantize(Tensor(params.storage, {}), params));
}

/// Bounds between raw integers, and their absence, as those of real numbers.
void express_clip(Graph& graph, const Node& node, const QuantParams& params) {
  std::vector<ValueId> operands{node.inputs[0]};
  if (node.op == "Relu") {
    operands.push_back(expressed_zero(graph, node, params));
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    operands.push_back(node.inputs[i] ? expressed_constant(graph, node.inputs[i], params)
                                      : ValueId{});
    if (node.inputs[i] && !operands.back()) {
      return;
    }
  }
  set_parameters(graph, node.outputs[0], params);
  replace_node(graph, node, "Clip", std::move(operands), {});
}

/// What goes without saying is the raw 0 here, and real 0 once there are parameters.
void express_pad(Graph& graph, const Node& node, const QuantParams& params) {
  constexpr std::size_t kValue = 2;
  std::vector<ValueId> operands = node.inputs;
  if (node.attributes.text("mode", "constant") == "constant") {
    operands.resize(std::max(operands.size(), kValue + 1));
    operands[kValue] = operands[kValue] ? expressed_constant(graph, operands[kValue], params)
                                        : expressed_zero(graph, node, params);
    if (!operands[kValue]) {
      return;
    }
  }
  set_parameters(graph, node.outputs[0], params);
  replace_node(graph, node, "Pad", std::move(operands), node.attributes);
}

}  // namespace

void follow_parameters(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (node.inputs.empty() || !node.inputs[0]) {
    return;
  }
  const TensorType type = graph.type(node.inputs[0]);
  if (!type.quant || graph.type(node.outputs[0]).quant) {
    return;
  }
  if (moves_raw(graph, node)) {
    for (const ValueId output : node.outputs) {
      const auto params = with_axis(*type.quant, axis_of_result, graph, node);
      if (params && graph.type(output).dtype == type.dtype) {
        set_parameters(graph, output, *params);
      }
    }
  } else if (type.quant->per_axis()) {
    return;
  } else if (node.op == "Concat") {
    const bool alike = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return graph.type(input).quant == type.quant;
    });
    if (alike) {
      set_parameters(graph, node.outputs[0], *type.quant);
    }
  } else if (node.op == "Clip" || node.op == "Relu") {
    express_clip(graph, node, *type.quant);
  } else if (node.op == "Pad") {
    express_pad(graph, node, *type.quant);
  }
}

bool assign_parameters(Graph& graph, ValueId storage, const QuantParams& params) {
  std::vector<std::pair<ValueId, QuantParams>> path;
  ValueId value = storage;
  QuantParams here = params;
  for (;;) {
    const auto& known = graph.type(value).quant;
    if (known) {
      if (*known != here) {
        return false;
      }
      break;
    }
    path.emplace_back(value, here);
    const auto producer = graph.producer(value);
    if (!producer) {
      break;
    }
    const Node& node = graph.node(*producer);
    if (find_affine_op(graph, node) == nullptr) {
      break;  // a QuantizeLinear that cannot be read, for one
    }
    const auto before =
        moves_raw(graph, node) ? with_axis(here, axis_of_operand, graph, node) : std::nullopt;
    if (!before) {
      return false;
    }
    value = node.inputs[0];
    here = *before;
  }
  for (const auto& [moved, own] : path) {
    set_parameters(graph, moved, own);
  }
  return true;
}

}  // namespace tare
