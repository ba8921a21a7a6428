#include "calibrate/selection/small_divisors.h"

#include "tare/graph.h"
#include "tare/statistics.h"

#include "graph/operators/affine_ops.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace tare {
namespace {

/// Of a value near 0 these, of which one operand at most is computed, make a value near 0.
constexpr std::array<std::string_view, 8> kKeepSmall{"Abs", "Add", "Clip", "Max",
                                                     "Min", "Mul", "Relu", "Sqrt"};

bool is_computed(const Graph& graph, ValueId value) {
  return value && graph.constant(value) == nullptr;
}

bool is_negative_constant(const Graph& graph, ValueId value) {
  const Tensor* constant = graph.constant(value);
  if (constant == nullptr || constant->dtype() != DType::kFloat32) {
    return false;
  }
  const auto numbers = constant->view<float>();
  return std::any_of(numbers.begin(), numbers.end(), [](float number) { return number < 0; });
}

/// The operand for which 0 has no finite result.
std::optional<ValueId> divisor_of(const Graph& graph, const Node& node) {
  std::optional<ValueId> result;
  if (node.op == "Log" || node.op == "Reciprocal" || node.op == "Rsqrt" ||
      (node.op == "Pow" && is_negative_constant(graph, node.inputs[1]))) {
    result = node.inputs[0];
  } else if (node.op == "Div") {
    result = node.inputs[1];
  }
  return result && is_computed(graph, *result) && is_float(graph.type(*result).dtype)
             ? result
             : std::nullopt;
}

/// What the value is made of without becoming large where that is small.
std::optional<ValueId> made_of(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) {
    return std::nullopt;
  }
  const Node& node = graph.node(*producer);
  const AffineOp* row = find_affine_op(graph, node);
  const bool moves = row != nullptr && row->rule == AffineRule::kMoves;
  if (!moves && std::find(kKeepSmall.begin(), kKeepSmall.end(), node.op) == kKeepSmall.end()) {
    return std::nullopt;
  }
  std::optional<ValueId> result;
  for (const ValueId operand : node.inputs) {
    if (is_computed(graph, operand)) {
      if (result && operand != *result) {
        return std::nullopt;
      }
      result = operand;
    }
  }
  return result;
}

double smallest_magnitude(const TensorStatistics& observed) {
  const double low = observed.low();
  const double high = observed.high();
  return low > 0 ? low : high < 0 ? -high : 0;
}

/// That of the value itself, or of what it is moved from.
const QuantPoint* point_of(const SimulatedGraph& simulated, ValueId value) {
  return simulated.find(simulated.source.name(point_root(simulated.source, value)));
}

class Search {
 public:
  Search(const SimulatedGraph& simulated, const Statistics& statistics)
      : simulated_(simulated), graph_(simulated.source), statistics_(statistics) {}

  std::vector<std::string> run() {
    for (const NodeId id : graph_.topological_order()) {
      if (const auto divisor = divisor_of(graph_, graph_.node(id))) {
        follow(id, *divisor);
      }
    }
    return {nodes_.begin(), nodes_.end()};
  }

 private:
  /// From the value back to what it is made of.
  void follow(NodeId reader, ValueId value) {
    bool is_lost = false;
    for (std::optional<ValueId> at = value; at; at = made_of(graph_, *at)) {
      const auto producer = graph_.producer(*at);
      if (producer && graph_.node(*producer).op == "DequantizeLinear") {
        return;  // the model itself has it on integers
      }
      const auto known = is_lost_.find(*at);
      const bool is_known = known != is_lost_.end();
      is_lost = is_lost || (is_known ? known->second : loses_smallest(*at));
      if (is_lost) {
        nodes_.insert(graph_.node(reader).name);
        if (producer) {
          nodes_.insert(graph_.node(*producer).name);
        }
      }
      if (is_known && known->second == is_lost) {
        return;  // the rest was followed from another divisor
      }
      is_lost_[*at] = is_lost;
      reader = producer.value_or(reader);
    }
  }

  bool loses_smallest(ValueId value) const {
    const QuantPoint* point = point_of(simulated_, value);
    if (point == nullptr) {
      return false;
    }
    const auto observed = statistics_.values.find(point->name);
    if (observed == statistics_.values.end() || observed->second.count() == 0) {
      return false;
    }
    const double low = std::min(observed->second.low(), 0.0);
    const double high = std::max(observed->second.high(), 0.0);
    const StorageRange steps =
        storage_range(point->spec.storage, point->spec.narrow_range, point->spec.bits);
    return smallest_magnitude(observed->second) * static_cast<double>(steps.high - steps.low) <
           high - low;
  }

  const SimulatedGraph& simulated_;
  const Graph& graph_;
  const Statistics& statistics_;
  std::map<ValueId, bool> is_lost_;  ///< of what was followed, with what is made of it
  std::set<std::string> nodes_;
};

}  // namespace

bool has_divisors(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return divisor_of(graph, graph.node(id)).has_value(); });
}

bool has_quantized_divisors(const SimulatedGraph& simulated) {
  const Graph& graph = simulated.source;
  std::set<ValueId> seen;
  for (const NodeId id : graph.nodes()) {
    for (auto at = divisor_of(graph, graph.node(id)); at && seen.insert(*at).second;
         at = made_of(graph, *at)) {
      if (point_of(simulated, *at) != nullptr) {
        return true;
      }
    }
  }
  return false;
}

std::vector<std::string> nodes_at_small_divisors(const SimulatedGraph& simulated,
                                                 const Statistics& statistics) {
  return Search(simulated, statistics).run();
}

}  // namespace tare
