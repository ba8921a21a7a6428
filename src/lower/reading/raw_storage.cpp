// Parameters of storage values that a file treats as plain integers between its conversions:
// moved and picked ones keep theirs, forward from operands and backward from results, and
// bounds become the real numbers that they stand for. i32 is left alone, or each form's way
// with accumulators would be undone.
#include "lower/reading/raw_storage.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/affine_ops.h"
#include "lower/conversions.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tare {
namespace {

constexpr std::size_t kPadValue = 2;

bool pads_constant(const Node& node) {
  return node.op == "Pad" && node.attributes.text("mode", "constant") == "constant";
}

/// The operands that hold raw integers beside the first one: bounds, or what is put around.
std::pair<std::size_t, std::size_t> constants_of(const Node& node) {
  const std::size_t first = node.op == "Clip" ? 1 : kPadValue;
  const std::size_t last = node.op == "Clip" ? 2 : pads_constant(node) ? kPadValue : 0;
  return {first, std::min(last + 1, node.inputs.size())};
}

bool holds_raw_constants(const Node& node) {
  return node.op == "Clip" || node.op == "Relu" || pads_constant(node);
}

/// The first operand and the results have the same parameters, whatever they are.
/// Not so for i32: it would make accumulators of them, which every form has its own way with.
bool moves_raw(const Graph& graph, const Node& node, const QuantParams& params) {
  if (params.storage == DType::kInt32) {
    return false;
  }
  if (holds_raw_constants(node)) {
    const auto [first, end] = constants_of(node);
    for (std::size_t i = first; i < end; ++i) {
      if (node.inputs[i] && graph.constant(node.inputs[i]) == nullptr) {
        return false;
      }
    }
    return !params.per_axis();
  }
  if (tie_breaking_point(node.attributes)) {
    return !params.per_axis();
  }
  const AffineOp* row = find_affine_op(graph, node);
  return row != nullptr && row->rule == AffineRule::kMoves;
}

void set_parameters(Graph& graph, ValueId value, const QuantParams& params) {
  TensorType type = graph.type(value);
  type.quant = params;
  graph.set_type(value, type);
}

using AxisMap = std::optional<int> (*)(const Graph&, const Node&, int);

/// Nothing when channels do not stay together, or blocks may not.
std::optional<QuantParams> with_axis(QuantParams params, AxisMap map, const Graph& graph,
                                     const Node& node) {
  if (params.block != 0) {
    return std::nullopt;
  }
  if (params.axis) {
    params.axis = map(graph, node, *params.axis);
    return params.axis ? std::optional(params) : std::nullopt;
  }
  return params;
}

/// The raw integer 0, as what it stands for.
ValueId expressed_zero(Graph& graph, const Node& node, const QuantParams& params) {
  return graph.add_constant(graph.unique_name(node.name + "_zero"),
                            dequantize(Tensor(params.storage, {}), params));
}

}  // namespace

bool follow_parameters(Graph& graph, const Node& node) {
  if (node.inputs.empty() || !node.inputs[0] || graph.type(node.outputs[0]).quant ||
      !graph.type(node.inputs[0]).quant) {
    return false;
  }
  const TensorType type = graph.type(node.inputs[0]);
  const bool alike =
      node.op == "Concat" && !type.quant->per_axis() && type.dtype != DType::kInt32 &&
      std::all_of(node.inputs.begin(), node.inputs.end(),
                  [&](ValueId input) { return graph.type(input).quant == type.quant; });
  if (!alike && !moves_raw(graph, node, *type.quant)) {
    return false;
  }
  bool changed = false;
  for (const ValueId output : node.outputs) {
    const auto params = with_axis(*type.quant, axis_of_result, graph, node);
    if (params && graph.type(output).dtype == type.dtype) {
      set_parameters(graph, output, *params);
      changed = true;
    }
  }
  return changed;
}

void express_constants(Graph& graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    if (!holds_raw_constants(node) || !graph.type(node.outputs[0]).quant) {
      continue;
    }
    const QuantParams params = *graph.type(node.outputs[0]).quant;
    std::vector<ValueId> operands = node.inputs;
    const auto [first, end] = constants_of(node);
    for (std::size_t i = first; i < end; ++i) {
      if (const Tensor* raw = operands[i] ? graph.constant(operands[i]) : nullptr) {
        operands[i] =
            graph.add_constant(graph.unique_name(graph.name(operands[i]) + "_expressed"),
                               dequantize(*raw, params));
      }
    }
    // What goes without saying is the raw 0, and would be the real one.
    if (node.op == "Relu") {
      operands.push_back(expressed_zero(graph, node, params));
    } else if (pads_constant(node) && (operands.size() <= kPadValue || !operands[kPadValue])) {
      operands.resize(std::max(operands.size(), kPadValue + 1));
      operands[kPadValue] = expressed_zero(graph, node, params);
    }
    replace_node(graph, node, node.op == "Relu" ? "Clip" : node.op, std::move(operands),
                 node.attributes);
  }
}

bool assign_parameters(Graph& graph, ValueId storage, const QuantParams& params) {
  std::vector<std::pair<ValueId, QuantParams>> path;
  ValueId value = storage;
  QuantParams here = params;
  for (;;) {
    const auto& known = graph.type(value).quant;
    if (known) {
      if (!is_part_of_storage(here)) {  // which only what quantizes can say
        here.bits = known->bits;
        here.narrow_range = known->narrow_range;
      }
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
    const auto before = moves_raw(graph, node, here)
                            ? with_axis(here, axis_of_operand, graph, node)
                            : std::nullopt;
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
