// The same computation, said in the same way.
#include "graph/arithmetic/storage_type.h"
#include "graph/ir/derived_names.h"
#include "graph/operators/permute.h"
#include "lower/affine_rewrites.h"
#include "lower/conversions.h"

#include <optional>

namespace tare {
namespace {

/// Rows become columns: of a constant at once, of other values by a node.
ValueId transpose(Graph& graph, ValueId matrix) {
  const std::vector<std::int64_t> order{1, 0};
  const TensorType type = permuted(graph.type(matrix), order);
  const std::string name = graph.unique_name(graph.name(matrix) + "_transposed");
  if (const Tensor* constant = graph.constant(matrix)) {
    const ValueId turned = graph.add_constant(name, permuted(*constant, order), type);
    take_name(graph, turned, graph.name(matrix));
    return turned;
  }
  const NodeId id =
      graph.add_node("", "Transpose", {matrix}, {{name, type}}, {{"perm", order}});
  return graph.node(id).outputs[0];
}

/// A Gemm of storage values multiplies plain matrices; one without a bias is a MatMul.
void unify_gemm(Graph& graph, const Node& gemm) {
  std::vector<ValueId> operands = gemm.inputs;
  if (operands.size() > 2 && !operands[2]) {
    operands.pop_back();
  }
  const bool turns = gemm.attributes.integer("transB", 0) != 0;
  Attributes attributes = gemm.attributes;
  for (const char* name : {"alpha", "beta", "transA", "transB"}) {
    attributes.erase(name);
  }
  if (!turns && operands.size() > 2 && attributes == gemm.attributes) {
    return;
  }
  if (turns) {
    operands[1] = transpose(graph, operands[1]);
  }
  const std::string op = operands.size() > 2 ? "Gemm" : "MatMul";
  replace_node(graph, gemm, op, std::move(operands), std::move(attributes));
}

/// The parameters that the first operand and the result share, when they are storage values
/// with one pair of parameters.
std::optional<QuantParams> common_parameters(const Graph& graph, const Node& node) {
  const auto& params = graph.type(node.inputs[0]).quant;
  const bool common = params && !params->per_axis() && !is_sum_type(params->storage) &&
                      graph.type(node.outputs[0]).quant == params;
  return common ? params : std::nullopt;
}

/// Bounds are rounded as the values are; one that no storage value lies beyond is none, and
/// the bound 0 alone is that of Relu.
void unify_clip(Graph& graph, const Node& clip) {
  const auto params = common_parameters(graph, clip);
  if (!params) {
    return;
  }
  std::vector<ValueId> operands{clip.inputs[0], {}, {}};
  bool rectifies = false;
  for (std::size_t i = 1; i < clip.inputs.size(); ++i) {
    const ValueId bound = clip.inputs[i];
    if (!bound) {
      continue;
    }
    const Tensor* real = graph.constant(bound);
    if (real == nullptr || real->size() != 1) {
      return;
    }
    const Tensor rounded = quantize(*real, *params);
    const std::int64_t storage = rounded.to_int64().at(0);
    if (storage == (i == 1 ? params->range().low : params->range().high)) {
      continue;
    }
    rectifies = i == 1 && storage == params->zero_point[0];
    operands[i] =
        graph.add_constant(graph.unique_name(graph.name(bound)), dequantize(rounded, *params));
  }
  if (rectifies) {
    replace_node(graph, clip, "Relu", {clip.inputs[0]}, {});
  } else {
    replace_node(graph, clip, "Clip", std::move(operands), {});
  }
}

/// What is put around is rounded as the values are; the usual 0 goes without saying.
void unify_pad(Graph& graph, const Node& pad) {
  constexpr std::size_t kValue = 2;
  const auto params = common_parameters(graph, pad);
  if (!params || pad.inputs.size() <= kValue || !pad.inputs[kValue]) {
    return;
  }
  const Tensor* real = graph.constant(pad.inputs[kValue]);
  if (real == nullptr) {
    return;
  }
  const Tensor rounded = dequantize(quantize(*real, *params), *params);
  std::vector<ValueId> operands = pad.inputs;
  operands[kValue] =
      rounded.to_double() == std::vector<double>{0}
          ? ValueId{}
          : graph.add_constant(graph.unique_name(graph.name(operands[kValue])), rounded);
  replace_node(graph, pad, "Pad", std::move(operands), pad.attributes);
}

}  // namespace

void spell_one_way(Graph& graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    const TensorType& result = graph.type(node.outputs[0]);
    if (node.op == "Gemm" && result.quant && is_sum_type(result.dtype)) {
      unify_gemm(graph, node);
    } else if (node.op == "Clip") {
      unify_clip(graph, node);
    } else if (node.op == "Pad") {
      unify_pad(graph, node);
    }
  }
}

}  // namespace tare
