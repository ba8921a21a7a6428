// The network of real values that a quantized one computes on a grid: conversions go, constants
// become what they stand for, and nothing rounds any more. What saturation does besides is
// kept: engines take a Relu, or a Clip, out in front of a Quantize whose storage type begins at
// the real 0. Linear in the size of the graph.
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "graph/arithmetic/node_arithmetic.h"
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

/// Whatever they read, their results are not negative.
const std::set<std::string_view> kNotNegative{"Relu", "Sigmoid", "Softmax", "HardSigmoid",
                                              "Abs",  "Exp",     "Sqrt"};
/// Their results are as large as one of their operands.
const std::set<std::string_view> kMoves{"MaxPool", "Reshape",   "Transpose", "Flatten",
                                        "Squeeze", "Unsqueeze", "Identity",  "Concat"};

/// What models as they are read have in other words.
const std::set<std::string_view> kOfIntegerGraphs{"Quantize", "Dequantize", "Requantize"};

class Dequantizer {
 public:
  explicit Dequantizer(Graph graph) : graph_(std::move(graph)) {}

  Graph run() {
    for (const NodeId id : graph_.topological_order()) {
      const Node node = graph_.node(id);
      if (node.op == "Quantize") {
        replace(node, bounded(node.inputs[0], *graph_.type(node.outputs[0]).quant,
                              graph_.name(node.outputs[0])));
      } else if (node.op == "Dequantize") {
        replace(node, node.inputs[0]);
      } else {
        forget_arithmetic(id, node);
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

  /// `real`, or where the parameters saturate at 0 what is left of it there.
  ValueId bounded(ValueId real, const QuantParams& params, const std::string& name) {
    const StorageRange range = params.range();
    const bool begins_at_zero =
        std::all_of(params.zero_point.begin(), params.zero_point.end(),
                    [&](std::int32_t zero) { return zero == range.low; });
    if (params.scale.size() != 1 || !begins_at_zero || is_bounded(real)) {
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

  /// Whether the value cannot be below 0 as it is. An input may be anything, but what a network
  /// does to its inputs is not the work of a Relu.
  bool is_bounded(ValueId value) const {
    while (true) {
      const std::optional<NodeId> producer = graph_.producer(value);
      if (!producer) {
        return true;
      }
      const Node& node = graph_.node(*producer);
      if (node.op == "Clip") {
        const Tensor* low = node.inputs.size() > 1 && node.inputs[1]
                                ? graph_.constant(node.inputs[1])
                                : nullptr;
        return low != nullptr && low->dtype() == DType::kFloat32 && low->size() == 1 &&
               low->view<float>()[0] >= 0;
      }
      if (!kMoves.contains(node.op)) {
        return kNotNegative.contains(node.op);
      }
      value = node.inputs[0];
    }
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
