#include "tare/simulate.h"

#include <algorithm>

namespace tare {
namespace {

class Switcher {
 public:
  Switcher(const SimulatedGraph& simulated, const QuantTable& table)
      : simulated_(simulated), table_(table) {
    result_.graph = simulated.graph;
  }

  SwitchableGraph run() {
    Graph& graph = result_.graph;
    for (const NodeId id : graph.topological_order()) {
      const Node node = graph.node(id);
      if (node.op == "SimulatedQuantize") {
        quantize(id, node);
      } else if (node.op == "SimulatedDequantize") {
        graph.replace_uses(node.outputs[0], node.inputs[0]);
      } else if (states_accumulator(node.attributes)) {
        Attributes attributes = node.attributes;
        set_accumulator(attributes, {});
        graph.set_attributes(id, std::move(attributes));
      }
    }
    for (const ValueId value : graph.values()) {
      TensorType type = graph.type(value);
      type.point.clear();
      graph.set_type(value, type);
    }
    graph.erase_unused();
    verify(graph);
    return std::move(result_);
  }

 private:
  void quantize(NodeId id, const Node& node) {
    Graph& graph = result_.graph;
    const std::string point = graph.type(node.outputs[0]).point;
    const Tensor* constant = graph.constant(node.inputs[0]);
    ValueId after;
    if (constant == nullptr) {
      const TensorType type{.dtype = DType::kFloat32,
                            .shape = graph.type(node.inputs[0]).shape,
                            .quant = {},
                            .point = {}};
      const NodeId fake =
          graph.add_node("", "FakeQuantize", {node.inputs[0], parameters(point)},
                         {{graph.unique_name(graph.name(node.outputs[0]) + "_fake"), type}});
      after = graph.node(fake).outputs[0];
    } else {
      after = graph.add_constant(graph.unique_name(graph.name(node.outputs[0]) + "_expressed"),
                                 expressed(*constant, point));
    }
    graph.replace_uses(node.outputs[0], after);
    graph.erase(id);
  }

  /// What a weight is after quantization, or a bias with its correction.
  Tensor expressed(const Tensor& constant, const std::string& point) const {
    const auto found = table_.find(point);
    if (found == table_.end() || !found->second.enabled) {
      return constant;
    }
    const PointResult& result = found->second;
    return simulated_.find(point)->role == Role::kAccumulator
               ? corrected_bias(constant, result)
               : dequantize(quantized_weight(constant, result), result.params);
  }

  /// The input that holds the parameters of a point.
  ValueId parameters(const std::string& point) {
    auto& points = result_.points;
    const auto found = std::find(points.begin(), points.end(), point);
    const auto index = static_cast<std::size_t>(found - points.begin());
    if (found == points.end()) {
      points.push_back(point);
      inputs_.push_back(result_.graph.add_input(
          result_.graph.unique_name(point + "_parameters"),
          {.dtype = DType::kFloat32, .shape = {4}, .quant = {}, .point = {}}));
    }
    return inputs_[index];
  }

  const SimulatedGraph& simulated_;
  const QuantTable& table_;
  SwitchableGraph result_;
  std::vector<ValueId> inputs_;
};

}  // namespace

Tensor switch_on(const QuantParams& params) {
  const StorageRange range = params.range();
  return Tensor::of<float>(
      {4}, std::vector<float>{params.scale[0], static_cast<float>(params.zero_point[0]),
                              static_cast<float>(range.low), static_cast<float>(range.high)});
}

Tensor switch_off() {
  return {DType::kFloat32, {4}};
}

SwitchableGraph switchable(const SimulatedGraph& simulated, const QuantTable& table) {
  return Switcher(simulated, table).run();
}

}  // namespace tare
