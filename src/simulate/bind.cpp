// Puts the parameters of a table into a simulated graph or a part of it. Points that are
// decided compute on storage values, others pass real ones, so each part can be run at any
// stage of the sequential schedule. An accumulator that could overflow for some input keeps its
// stated width, and runs product after product; all others run on the fast kernels. Time:
// linear in the part.
#include "tare/simulate.h"

#include "base/check.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/product.h"
#include "simulate/accumulated.h"
#include "simulate/part_binder.h"
#include "simulate/quantized_constants.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// Zero points of a value as a float constant that broadcasts over it.
Tensor zero_points(const QuantParams& params, std::size_t rank) {
  Shape shape(params.axis ? rank : 0, 1);
  if (params.axis) {
    shape[static_cast<std::size_t>(*params.axis)] =
        static_cast<std::int64_t>(params.scale.size());
  }
  return Tensor::of<float>(
      shape, std::vector<float>(params.zero_point.begin(), params.zero_point.end()));
}

bool all_zero(const QuantParams& params) {
  return std::all_of(params.zero_point.begin(), params.zero_point.end(),
                     [](std::int32_t zero) { return zero == 0; });
}

class Binder {
 public:
  Binder(Graph graph, const SimulatedGraph& simulated, const QuantTable& table)
      : graph_(std::move(graph)), simulated_(simulated), table_(table) {}

  Graph run() {
    for (const ValueId input : graph_.inputs()) {
      bind_input(input);
    }
    const std::vector<NodeId> order = graph_.topological_order();
    for (const NodeId id : order) {
      const Node node = graph_.node(id);
      const std::string point = graph_.type(node.outputs[0]).point;
      if (node.op != "SimulatedQuantize" && !point.empty()) {
        bind_accumulation(id, point);
      }
    }
    for (const NodeId id : order) {
      bind_conversion(id);
    }
    graph_.erase_unused();
    verify(graph_);
    return std::move(graph_);
  }

 private:
  /// Inputs of a part may hold storage values.
  void bind_input(ValueId input) {
    TensorType type = graph_.type(input);
    if (!type.point.empty()) {
      type.quant = decided(type.point);
      check(type.quant.has_value(), "a part starts at a point that is not decided");
      graph_.set_type(input, type);
    }
  }

  /// A sum of products runs on storage values when all its operands do, else on expressed
  /// values.
  void bind_accumulation(NodeId id, const std::string& point) {
    const Node node = graph_.node(id);
    const ValueId result = node.outputs[0];
    const auto params = decided(point);
    TensorType type = graph_.type(result);
    if (!params || !may_overflow(node, point)) {
      Attributes attributes = node.attributes;
      set_accumulator(attributes, {});
      graph_.set_attributes(id, std::move(attributes));
    }
    if (!params) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i]) {
          graph_.set_input(id, i, expressed(node.inputs[i]));
        }
      }
      type.point.clear();
      graph_.set_type(result, type);
      return;
    }
    for (const std::size_t i : {0U, 1U}) {
      graph_.set_input(id, i, centred(node.inputs[i]));
    }
    type.quant = params;
    if (type.quant->axis) {
      type.quant->axis = channel_axis(node, type.shape);
    }
    graph_.set_type(result, type);
  }

  /// For some storage values, where the points of an accumulating node are decided.
  bool may_overflow(const Node& node, const std::string& point) const {
    if (!states_accumulator(node.attributes)) {
      return false;
    }
    const Accumulator held = accumulator(node.attributes);
    const auto sums = worst_case_accumulators(simulated_, *simulated_.find(point), table_);
    return std::any_of(sums.begin(), sums.end(),
                       [&](const SumRange& sum) { return !sum.fits(held); });
  }

  /// storage - zero_point, as the accumulator wants it.
  ValueId centred(ValueId storage) {
    const TensorType type = graph_.type(storage);
    const auto params = decided(type.point);
    if (!params || all_zero(*params)) {
      return storage;
    }
    const std::string name = graph_.name(storage);
    const ValueId zero = graph_.add_constant(graph_.unique_name(name + "_zero_point"),
                                             zero_points(*params, type.shape.size()));
    const TensorType plain{
        .dtype = DType::kFloat32, .shape = type.shape, .quant = {}, .point = {}};
    const NodeId id = graph_.add_node("", "Sub", {storage, zero},
                                      {{graph_.unique_name(name + "_centred"), plain}});
    return graph_.node(id).outputs[0];
  }

  ValueId expressed(ValueId storage) {
    const TensorType type = graph_.type(storage);
    if (type.point.empty()) {
      return storage;
    }
    if (!decided(type.point)) {
      return graph_.node(*graph_.producer(storage)).inputs[0];
    }
    const TensorType plain{
        .dtype = DType::kFloat32, .shape = type.shape, .quant = {}, .point = {}};
    const NodeId id =
        graph_.add_node("", "SimulatedDequantize", {storage},
                        {{graph_.unique_name(graph_.name(storage) + "_expressed"), plain}});
    return graph_.node(id).outputs[0];
  }

  /// Gives conversions their parameters, or takes them out where their point is disabled.
  void bind_conversion(NodeId id) {
    const Node node = graph_.node(id);
    const bool quantizes = node.op == "SimulatedQuantize";
    if (!quantizes && node.op != "SimulatedDequantize") {
      return;
    }
    const ValueId storage = quantizes ? node.outputs[0] : node.inputs[0];
    TensorType type = graph_.type(storage);
    const auto params = decided(type.point);
    if (!params) {
      graph_.replace_uses(node.outputs[0], node.inputs[0]);
    } else if (quantizes) {
      type.quant = params;
      graph_.set_type(storage, type);
      const PointResult& result = table_.at(type.point);
      if (!result.rounding.empty()) {
        const Tensor& exact = *graph_.constant(node.inputs[0]);
        replace_constant(id, "_rounded",
                         dequantize(quantized_weight(exact, result), result.params));
      } else if (!result.bias_correction.empty()) {
        replace_constant(id, "_corrected",
                         corrected_bias(*graph_.constant(node.inputs[0]), result));
      }
    }
  }

  /// Gives the conversion of a constant another one.
  void replace_constant(NodeId id, const char* suffix, const Tensor& values) {
    const std::string& before = graph_.name(graph_.node(id).inputs[0]);
    graph_.set_input(id, 0, graph_.add_constant(graph_.unique_name(before + suffix), values));
  }

  /// Decided parameters of a point, or nothing while it is disabled. An accumulator counts
  /// storage values, so it needs both factors to be enabled.
  std::optional<QuantParams> decided(const std::string& point) const {
    const auto found = table_.find(point);
    if (found == table_.end() || !found->second.enabled) {
      return std::nullopt;
    }
    const QuantPoint* known = simulated_.find(point);
    if (known != nullptr && known->role == Role::kAccumulator &&
        !(decided(known->input) && decided(known->weight))) {
      return std::nullopt;
    }
    return found->second.params;
  }

  Graph graph_;
  const SimulatedGraph& simulated_;
  const QuantTable& table_;
};

}  // namespace

Graph bind(const SimulatedGraph& simulated, const QuantTable& table) {
  return Binder(simulated.graph, simulated, table).run();
}

Subgraph PartBinder::bind(const QuantTable& table, std::span<const ValueId> sources,
                          std::span<const ValueId> results) const {
  Subgraph part = cutter_.cut(sources, results);
  std::vector<ValueId> outputs;
  for (const ValueId result : results) {
    outputs.push_back(part.values.at(result));
  }
  part.graph.set_outputs(std::move(outputs));
  part.graph = Binder(std::move(part.graph), simulated_, table).run();
  part.values.clear();
  return part;
}

}  // namespace tare
