// Takes the rounding out of a quantized network: conversions go, and constants become the real
// numbers that they stand for. Saturation may do the work of an operator and then stays, as a
// Clip: engines drop a Relu or Clip in front of a Quantize whose storage type begins at the
// real 0. One pass over the graph.
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/affine_ops.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tare {
namespace {

/// Operators whose results are never negative.
const std::set<std::string_view> kNotNegative{"Relu", "Sigmoid", "Softmax", "HardSigmoid",
                                              "Abs",  "Exp",     "Sqrt"};

/// Models as they are read have QuantizeLinear and DequantizeLinear in their place.
const std::set<std::string_view> kOfIntegerGraphs{"Quantize", "Dequantize", "Requantize"};

class Dequantizer {
 public:
  explicit Dequantizer(Graph graph) : graph_(std::move(graph)) {}

  Graph run() {
    not_negative_.insert(graph_.inputs().begin(), graph_.inputs().end());
    for (const NodeId id : graph_.topological_order()) {
      const Node node = graph_.node(id);
      if (node.op == "Quantize") {
        replace(node, clipped(node.inputs[0], *graph_.type(node.outputs[0]).quant,
                              graph_.name(node.outputs[0])));
      } else if (node.op == "Dequantize") {
        replace(node, node.inputs[0]);
      } else {
        forget_arithmetic(id, node);
        if (is_not_negative(node)) {
          not_negative_.insert(node.outputs.begin(), node.outputs.end());
        }
      }
    }
    graph_.erase_unused();
    for (const ValueId value : graph_.values()) {
      become_real(value);
    }
    verify(graph_);
    return std::move(graph_);
  }

 private:
  void replace(const Node& node, ValueId value) { graph_.replace_uses(node.outputs[0], value); }

  /// `real`, or a Clip of it to the range of parameters that begin at 0.
  ValueId clipped(ValueId real, const QuantParams& params, const std::string& name) {
    const StorageRange range = params.range();
    if (params.scale.size() != 1 || params.zero_point[0] != range.low ||
        not_negative_.contains(real)) {
      return real;
    }
    const float high = params.scale[0] * static_cast<float>(range.high - range.low);
    const auto limit = [&](const char* end, float value) {
      return graph_.add_constant(graph_.unique_name(name + end), Tensor::scalar<float>(value));
    };
    const ValueId low_end = limit("_low", 0);
    const ValueId high_end = limit("_high", high);
    const NodeId clip = graph_.add_node(graph_.unique_name(name + "_saturated"), "Clip",
                                        {real, low_end, high_end},
                                        {{graph_.unique_name(name + "_saturated"),
                                          {.dtype = DType::kFloat32,
                                           .shape = graph_.type(real).shape,
                                           .quant = {},
                                           .point = {}}}});
    return graph_.node(clip).outputs[0];
  }

  /// Whether results of the node are not negative, or are what came in as an input: what a
  /// network does to its inputs is not the work of a Relu.
  bool is_not_negative(const Node& node) const {
    if (node.op == "Clip") {
      const Tensor* low =
          node.inputs.size() > 1 && node.inputs[1] ? graph_.constant(node.inputs[1]) : nullptr;
      return low != nullptr && low->dtype() == DType::kFloat32 && low->size() == 1 &&
             low->view<float>()[0] >= 0;
    }
    if (kNotNegative.contains(node.op)) {
      return true;
    }
    const auto is_known = [&](ValueId operand) { return not_negative_.contains(operand); };
    if (node.op == "Concat") {
      return std::all_of(node.inputs.begin(), node.inputs.end(), is_known);
    }
    const AffineOp* row = find_affine_op(graph_, node);
    return row != nullptr && row->rule == AffineRule::kMoves && is_known(node.inputs[0]);
  }

  void forget_arithmetic(NodeId id, const Node& node) {
    Attributes attributes = node.attributes;
    set_accumulator(attributes, {});
    set_numerics(attributes, Numerics::kOnnxRuntime);
    set_tie_breaking_point(attributes, std::nullopt);
    if (!(attributes == node.attributes)) {
      graph_.set_attributes(id, std::move(attributes));
    }
  }

  void become_real(ValueId value) {
    TensorType type = graph_.type(value);
    if (!type.quant && type.point.empty()) {
      return;
    }
    if (const Tensor* constant = graph_.constant(value); constant != nullptr && type.quant) {
      const std::string name = graph_.name(value);
      graph_.replace_uses(value, graph_.add_constant(graph_.unique_name(name + "_real"),
                                                     dequantize(*constant, *type.quant)));
      graph_.erase(value);
      return;
    }
    if (type.quant) {
      type.dtype = DType::kFloat32;
      type.quant.reset();
    }
    type.point.clear();
    graph_.set_type(value, std::move(type));
  }

  Graph graph_;
  std::set<ValueId> not_negative_;  ///< and inputs, see is_not_negative()
};

}  // namespace

Graph dequantized(Graph quantized) {
  const std::vector<NodeId> nodes = quantized.nodes();
  const bool is_canonical = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    return kOfIntegerGraphs.contains(quantized.node(id).op);
  });
  Graph between_conversions =
      is_canonical ? to_qdq(quantized) : from_integer_operators(std::move(quantized));
  return Dequantizer(from_qdq(std::move(between_conversions))).run();
}

}  // namespace tare
