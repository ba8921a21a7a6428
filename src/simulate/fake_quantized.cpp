// Turns a simulated graph into fake quantization: values stay real, and are rounded to the grid
// of parameters that are inputs of the graph. Sums then round as floats do and never overflow,
// unlike those of the integer graph, but parameters can be changed from run to run without
// compiling anything, which is what makes trials of many settings cheap (calibrate/trial.h).
// Constants are rounded once, here.
#include "simulate/fake_quantized.h"

#include "tare/simulate.h"

#include "base/parallel.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "simulate/quantized_constants.h"

#include <map>
#include <utility>
#include <vector>

namespace tare {
namespace {

class FakeQuantizer {
 public:
  FakeQuantizer(const SimulatedGraph& simulated, const QuantTable& table, int threads)
      : simulated_(simulated), table_(table) {
    result_.graph = simulated.graph;
    round_constants(threads);
  }

  FakeQuantizedGraph run() {
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
  Tensor rounded(const Node& node) const {
    const std::string& point = result_.graph.type(node.outputs[0]).point;
    return after_quantization(*result_.graph.constant(node.inputs[0]), *simulated_.find(point),
                              table_);
  }

  /// Before anything else, as it takes most of the time and threads can share it.
  void round_constants(int threads) {
    const Graph& graph = result_.graph;
    std::vector<std::pair<NodeId, Tensor*>> all;
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (node.op == "SimulatedQuantize" && graph.constant(node.inputs[0]) != nullptr) {
        all.emplace_back(id, &constants_[id]);
      }
    }
    parallel_for(all.size(), thread_count(threads), [&](std::size_t, std::size_t i) {
      *all[i].second = rounded(graph.node(all[i].first));
    });
  }

  void quantize(NodeId id, const Node& node) {
    Graph& graph = result_.graph;
    const std::string point = graph.type(node.outputs[0]).point;
    ValueId after;
    if (graph.constant(node.inputs[0]) == nullptr) {
      const TensorType type{.dtype = DType::kFloat32,
                            .shape = graph.type(node.inputs[0]).shape,
                            .quant = {},
                            .point = {}};
      const NodeId fake =
          graph.add_node("", "FakeQuantize", {node.inputs[0], parameters(point)},
                         {{graph.unique_name(graph.name(node.outputs[0]) + "_fake"), type}});
      after = graph.node(fake).outputs[0];
    } else {
      const auto found = constants_.find(id);
      // What became a constant in this loop was not rounded before it.
      Tensor values = found == constants_.end() ? rounded(node) : std::move(found->second);
      after = graph.add_constant(graph.unique_name(graph.name(node.outputs[0]) + "_expressed"),
                                 std::move(values));
      result_.constants.push_back({point, after});
    }
    graph.replace_uses(node.outputs[0], after);
    graph.erase(id);
  }

  /// The input that holds the parameters of a point.
  ValueId parameters(const std::string& point) {
    const auto [found, is_new] = inputs_.try_emplace(point);
    if (is_new) {
      result_.points.push_back(point);
      found->second = result_.graph.add_input(
          result_.graph.unique_name(point + "_parameters"),
          {.dtype = DType::kFloat32, .shape = {4}, .quant = {}, .point = {}});
    }
    return found->second;
  }

  const SimulatedGraph& simulated_;
  const QuantTable& table_;
  FakeQuantizedGraph result_;
  std::map<NodeId, Tensor> constants_;     ///< rounded, by the node that says how
  std::map<std::string, ValueId> inputs_;  ///< by point
};

}  // namespace

Tensor after_quantization(const Tensor& constant, const QuantPoint& point,
                          const QuantTable& table) {
  const auto found = table.find(point.name);
  if (found == table.end() || !found->second.enabled) {
    return constant;
  }
  const PointResult& result = found->second;
  return point.role == Role::kAccumulator
             ? corrected_bias(constant, result)
             : dequantize(quantized_weight(constant, result), result.params);
}

Tensor enabled_point(const QuantParams& params) {
  const StorageRange range = params.range();
  return Tensor::of<float>(
      {4}, std::vector<float>{params.scale[0], static_cast<float>(params.zero_point[0]),
                              static_cast<float>(range.low), static_cast<float>(range.high)});
}

Tensor disabled_point() {
  return {DType::kFloat32, {4}};
}

FakeQuantizedGraph fake_quantized_graph(const SimulatedGraph& simulated,
                                        const QuantTable& table, int threads) {
  return FakeQuantizer(simulated, table, threads).run();
}

}  // namespace tare
