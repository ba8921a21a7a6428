// Sorts the points of a simulated graph into levels, and says which values have to be cached
// between them. The level of a point is the longest way to it, counted in points: all that it
// depends on is decided in earlier levels, and no point waits longer than it has to. An
// accumulator is decided with the later one of its two factors. The sequential schedules of
// AdaRound and GPTQ go layer by layer; levels are that for graphs with branches.
//
// Values are cached from the level in which they are known to the one in which the last reader
// that is still wanted has been computed, so that each step runs only the operators between two
// levels. Where a value follows from a quantized one by moving elements, that one is cached: it
// takes a quarter of the bytes. What is computed from shapes is computed anew in each step,
// from the values whose shapes these are, so that it is a constant for each shape of the
// samples.
//
// Time: sweeps over the graph, and for each cached value one step for each level it is kept.
#include "calibrate/sequential/levels.h"

#include "tare/graph.h"
#include "tare/simulate.h"

#include "graph/operators/affine_ops.h"
#include "graph/operators/rectified_sum.h"
#include "graph/operators/shape_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tare {
namespace {

class Planner {
 public:
  explicit Planner(const SimulatedGraph& simulated)
      : simulated_(simulated), graph_(simulated.graph), order_(graph_.topological_order()) {}

  std::vector<CalibrationLevel> run() {
    for (const NodeId id : order_) {
      place(id);
      follow_shapes(id);
    }
    std::vector<CalibrationLevel> levels;
    const auto at = [&](std::size_t level) -> CalibrationLevel& {
      levels.resize(std::max(levels.size(), level));
      return levels[level - 1];
    };
    for (const QuantPoint& point : simulated_.points) {
      if (point.role == Role::kActivation) {
        at(level_of(point)).points.push_back(&point);
        want(point.simulated, level_of(point));
        if (const auto other = known_other_operand(point)) {
          at(level_of(point)).rectified.push_back({&point, *other});
          want(*other, level_of(point));
        }
      } else if (point.role == Role::kAccumulator) {
        const std::size_t level = std::max(level_of(*simulated_.find(point.input)),
                                           level_of(*simulated_.find(point.weight)));
        at(level).accumulators.push_back(&point);
        want(point.simulated, level);
      } else if (point.rounds_weight) {
        at(level_of(point)).weights.push_back(&point);
        want(point.simulated, level_of(point));
      }
    }
    spread_wants();
    plan_caches(levels);
    return levels;
  }

 private:
  const Node* producer(ValueId value) const {
    const auto id = graph_.producer(value);
    return id ? &graph_.node(*id) : nullptr;
  }

  /// The activation point of a SimulatedQuantize, or null.
  const QuantPoint* quantized_point(const Node& node) const {
    if (node.op != "SimulatedQuantize") {
      return nullptr;
    }
    const QuantPoint* point = simulated_.find(graph_.type(node.outputs[0]).point);
    return point != nullptr && point->role == Role::kActivation ? point : nullptr;
  }

  /// The weight in blocks whose rounding waits for data that `node` multiplies, or null.
  const QuantPoint* rounded_weight(const Node& node) const {
    const Node* weight =
        node.inputs.size() > 1 && node.inputs[1] ? producer(node.inputs[1]) : nullptr;
    if (weight == nullptr || weight->op != "SimulatedDequantize") {
      return nullptr;
    }
    const QuantPoint* point = simulated_.find(graph_.type(weight->inputs[0]).point);
    return point != nullptr && point->role == Role::kWeight && point->rounds_weight ? point
                                                                                    : nullptr;
  }

  /// 0 for constants that need no data.
  std::size_t level_of(const QuantPoint& point) const {
    return point.role == Role::kActivation || point.rounds_weight
               ? std::max<std::size_t>(depth(point.simulated), 1)
               : 0;
  }

  /// The level with which a value is known: 0 for inputs and constants.
  std::size_t depth(ValueId value) const {
    const auto found = depths_.find(value);
    return found == depths_.end() ? 0 : found->second;
  }

  /// The least one of what is computed from it: the next where it is quantized.
  std::size_t depth_after(ValueId value) const {
    const Node* node = producer(value);
    const bool quantized = node != nullptr && quantized_point(*node) != nullptr;
    return depth(value) + (quantized || graph_.is_input(value) ? 1 : 0);
  }

  /// What the point's value is added to in front of a Relu, if the level of the point knows it:
  /// as it was decided before, or undecided as well.
  std::optional<ValueId> known_other_operand(const QuantPoint& point) const {
    const std::optional<ValueId> other = rectified_with(graph_, point.simulated);
    if (!other || depth(*other) <= level_of(point)) {
      return other;
    }
    const Node* expressed = producer(*other);
    const Node* quantized = expressed != nullptr && expressed->op == "SimulatedDequantize"
                                ? producer(expressed->inputs[0])
                                : nullptr;
    const bool is_beside = quantized != nullptr && quantized_point(*quantized) != nullptr &&
                           depth(quantized->inputs[0]) <= level_of(point);
    return is_beside ? std::optional(quantized->inputs[0]) : std::nullopt;
  }

  void place(NodeId id) {
    const Node& node = graph_.node(id);
    std::size_t result = 0;
    for (const ValueId input : node.inputs) {
      result = std::max(result, input ? depth_after(input) : 0);
    }
    if (const QuantPoint* point = quantized_point(node)) {
      result = std::max(result, level_of(*point));
    }
    if (const QuantPoint* weight = rounded_weight(node)) {
      result = std::max(result, level_of(*weight) + 1);
    }
    for (const ValueId output : node.outputs) {
      depths_[output] = result;
    }
  }

  /// Notes what follows from shapes and constants alone, and from whose shapes.
  void follow_shapes(NodeId id) {
    const Node& node = graph_.node(id);
    std::set<ValueId> roots;
    if (reads_shape_only(node)) {
      roots.insert(node.inputs[0]);
    } else {
      for (const ValueId input : node.inputs) {
        const auto found = shape_roots_.find(input);
        if (found != shape_roots_.end()) {
          roots.insert(found->second.begin(), found->second.end());
        } else if (input && graph_.constant(input) == nullptr) {
          return;
        }
      }
    }
    for (const ValueId output : node.outputs) {
      if (!roots.empty()) {
        shape_roots_.emplace(output, roots);
      }
    }
  }

  /// The operands of a node that are computed from data, and those whose shapes decide others.
  std::set<ValueId> data_of(const Node& node) const {
    std::set<ValueId> result;
    for (const ValueId input : node.inputs) {
      const auto found = shape_roots_.find(input);
      if (found != shape_roots_.end()) {
        result.insert(found->second.begin(), found->second.end());
      } else if (input) {
        result.insert(input);
      }
    }
    return result;
  }

  void want(ValueId value, std::size_t level) {
    wanted_[value] = std::max(wanted_[value], level);
  }

  /// The last level for which each value is needed.
  void spread_wants() {
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const Node& node = graph_.node(*id);
      std::size_t level = 0;
      for (const ValueId output : node.outputs) {
        level = std::max(level, wanted_[output]);
      }
      for (const ValueId input : node.inputs) {
        if (input) {
          want(input, level);
        }
      }
    }
  }

  bool moves_operand(const Node& node) const {
    const AffineOp* row = find_affine_op(graph_, node);
    return row != nullptr && row->rule == AffineRule::kMoves &&
           std::all_of(node.inputs.begin() + 1, node.inputs.end(), [this](ValueId other) {
             return !other || graph_.constant(other) != nullptr;
           });
  }

  /// For each value the quantized one that it follows from at next to no cost; else itself.
  std::map<ValueId, ValueId> origins() const {
    std::map<ValueId, ValueId> quantized;
    for (const NodeId id : order_) {
      const Node& node = graph_.node(id);
      if (quantized_point(node) != nullptr) {
        quantized.emplace(node.outputs[0], node.outputs[0]);
      } else if (moves_operand(node) || node.op == "SimulatedDequantize") {
        if (const auto found = quantized.find(node.inputs[0]); found != quantized.end()) {
          for (const ValueId output : node.outputs) {
            quantized.emplace(output, found->second);
          }
        }
      }
    }
    return quantized;
  }

  /// A value is cached behind the levels [first, last].
  struct Lifetime {
    ValueId value;
    std::size_t first;
    std::size_t last;
    auto operator<=>(const Lifetime&) const = default;
  };

  /// Each value is cached from where it is known to where all that is computed from it is, as
  /// far as that is wanted by levels after the next.
  std::vector<Lifetime> lifetimes() const {
    const std::map<ValueId, ValueId> quantized = origins();
    std::vector<Lifetime> result;
    for (const NodeId id : order_) {
      const Node& node = graph_.node(id);
      if (shape_roots_.contains(node.outputs[0])) {
        continue;
      }
      std::size_t wanted = 0;
      for (const ValueId output : node.outputs) {
        const auto found = wanted_.find(output);
        wanted = std::max(wanted, found == wanted_.end() ? 0 : found->second);
      }
      for (const ValueId input : data_of(node)) {
        const std::size_t known = depth(input);
        const std::size_t end = std::min(depth(node.outputs[0]), wanted > 0 ? wanted - 1 : 0);
        if (known > 0 && known < end) {
          const auto origin = quantized.find(input);
          result.push_back(
              {origin == quantized.end() ? input : origin->second, known, end - 1});
        }
      }
    }
    return result;
  }

  void plan_caches(std::vector<CalibrationLevel>& levels) const {
    std::vector<Lifetime> all = lifetimes();
    std::sort(all.begin(), all.end());
    ValueId value;
    std::size_t next = 0;  // behind the levels where that value is cached already
    for (const Lifetime& lifetime : all) {
      next = std::max(lifetime.value == value ? next : 0, lifetime.first);
      value = lifetime.value;
      for (; next <= lifetime.last && next + 2 <= levels.size(); ++next) {
        levels[next - 1].cached_values.push_back(value);
      }
    }
  }

  const SimulatedGraph& simulated_;
  const Graph& graph_;
  std::vector<NodeId> order_;
  std::map<ValueId, std::size_t> depths_;
  std::map<ValueId, std::size_t> wanted_;
  std::map<ValueId, std::set<ValueId>> shape_roots_;  ///< of what is computed from shapes
};

}  // namespace

std::vector<CalibrationLevel> plan_levels(const SimulatedGraph& simulated) {
  return Planner(simulated).run();
}

}  // namespace tare
