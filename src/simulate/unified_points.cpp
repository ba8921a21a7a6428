// Collects points that have to share parameters, by union-find with path halving over operators
// that the target wants unified. Chains of them, as Concats in dense blocks, end up in one set.
// Nearly linear in the number of operands.
#include "simulate/unified_points.h"

#include "simulate/region_builder.h"

#include <algorithm>
#include <numeric>

namespace tare {
namespace {

/// Sets of points that share one of them are one set.
class PointSets {
 public:
  explicit PointSets(std::size_t points) : parents_(points), last_(points) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  /// `time` counts calls, from 1.
  void join(const std::vector<PointId>& points, std::size_t time) {
    const std::size_t kept = root(points.front().index);
    for (const PointId point : points) {
      parents_[root(point.index)] = kept;
    }
    last_[kept] = time;
  }

  std::size_t root(std::size_t point) {
    while (parents_[point] != point) {
      parents_[point] = parents_[parents_[point]];
      point = parents_[point];
    }
    return point;
  }
  /// When the set of a root was joined last; 0 for points that never were.
  std::size_t last(std::size_t root) const { return last_[root]; }

 private:
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> last_;
};

/// The activation that is quantized under the value's name.
std::optional<PointId> activation(const SimulatedGraph& simulated, ValueId value) {
  const auto id = simulated.points.find(simulated.source.name(value));
  return id && simulated.points[*id].role == Role::kActivation ? id : std::nullopt;
}

}  // namespace

std::vector<std::vector<std::string>> unified_points(const SimulatedGraph& simulated) {
  const Graph& graph = simulated.source;
  const auto& ops = simulated.target.unified;
  PointSets sets(simulated.points.size());
  std::size_t time = 0;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const bool is_unified = std::find(ops.begin(), ops.end(), node.op) != ops.end();
    const auto result = is_unified ? activation(simulated, node.outputs[0]) : std::nullopt;
    if (!result) {
      continue;
    }
    std::vector<PointId> points{*result};
    for (const ValueId operand : node.inputs) {
      const auto read =
          operand ? activation(simulated, point_root(graph, operand)) : std::nullopt;
      if (read) {
        points.push_back(*read);
      }
    }
    sets.join(points, ++time);
  }
  // The sets in the order in which the last operator met them, names in theirs.
  std::map<std::size_t, std::vector<std::string>> by_time;
  for (std::uint32_t i = 0; i < simulated.points.size(); ++i) {
    if (const std::size_t last = sets.last(sets.root(i)); last != 0) {
      by_time[last].push_back(simulated.points[PointId{i}].name);
    }
  }
  std::vector<std::vector<std::string>> result;
  for (auto& [last, names] : by_time) {
    std::sort(names.begin(), names.end());
    result.push_back(std::move(names));
  }
  return result;
}

}  // namespace tare
