// Says how long the target takes for a network, as floats and as quantized, from the costs that
// placement uses: both sides of the cut are fixed to what the table says, and what is left open
// between them (operators that merely follow) is placed for the least time. One cut for each of
// the networks.

#include "graph/operators/inner_graphs.h"
#include "graph/operators/product.h"
#include "simulate/kernel_time.h"
#include "simulate/match_regions.h"
#include "simulate/placement/placement.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

/// Nodes of regions that the table quantizes.
std::set<NodeId> quantized_nodes(const SimulatedGraph& simulated, const QuantTable& table) {
  std::set<NodeId> nodes;
  for (const Region& region : simulated.regions) {
    const bool is_disabled =
        std::any_of(region.points.begin(), region.points.end(), [&](const std::string& point) {
          const auto entry = table.find(point);
          return entry == table.end() || !entry->second.enabled;
        });
    if (!is_disabled) {
      nodes.insert(region.match.nodes().begin(), region.match.nodes().end());
    }
  }
  return nodes;
}

bool has_costs(const Target& target) {
  return !target.processor.empty() ||
         std::any_of(target.operators.begin(), target.operators.end(),
                     [](const TargetOperator& row) {
                       return row.floats.work > 0 && row.integers.work > 0;
                     });
}

/// Loops and recurrent layers take most of the time where there are any, and nobody knows how
/// often a loop runs.
bool lacks_costs(const Settings& settings, const Node& node) {
  if (!graph_attributes(node.op).empty()) {
    return true;
  }
  const TargetOperator* row = is_recurrent(node) ? settings.costs_of(node) : nullptr;
  return is_recurrent(node) && (row == nullptr || row->floats.work == 0 || row->op != node.op);
}

/// What recurrent layers save that quantize while they run; nothing where other products do,
/// of which nobody knows.
std::optional<double> saved_dynamically(const SimulatedGraph& simulated,
                                        const Settings& settings, const QuantTable& table) {
  double saved = 0;
  for (const DynamicProduct& product : simulated.dynamic) {
    const Node& node = simulated.source.node(product.node);
    const TargetOperator* row = settings.dynamic_kernel_costs(node);
    if (!is_recurrent(node) || row == nullptr) {
      return std::nullopt;
    }
    if (is_enabled(product, table)) {
      saved += kernel_time(simulated.source, node, row->floats) -
               kernel_time(simulated.source, node, row->integers);
    }
  }
  return saved;
}

}  // namespace

std::optional<PredictedTime> predicted_time(const SimulatedGraph& simulated,
                                            const QuantTable& table,
                                            std::span<const QuantPattern> patterns,
                                            const std::set<std::string>& float_nodes) {
  const Graph& graph = simulated.source;
  Config config;
  config.objective = Objective::kLatency;
  Target target = simulated.target;
  target.keep_float.clear();
  const Settings settings(graph, config, target);
  const std::vector<NodeId> nodes = graph.nodes();
  const std::optional<double> saved = saved_dynamically(simulated, settings, table);
  if (!has_costs(simulated.target) || !saved ||
      std::any_of(nodes.begin(), nodes.end(),
                  [&](NodeId id) { return lacks_costs(settings, graph.node(id)); })) {
    return std::nullopt;
  }
  const std::vector<Region> regions = match_candidates(graph, settings, patterns);
  const std::set<NodeId> quantized = quantized_nodes(simulated, table);
  std::vector<bool> on_integers(regions.size());
  std::vector<bool> fastest(regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const NodeId root = regions[i].match.root();
    on_integers[i] = quantized.contains(root);
    fastest[i] = on_integers[i] || float_nodes.contains(graph.node(root).name);
  }
  PredictedTime time{
      .floats =
          predicted_nanoseconds(graph, settings, regions, std::vector<bool>(regions.size())),
      .quantized = predicted_nanoseconds(graph, settings, regions, on_integers) - *saved,
      .fastest = predicted_nanoseconds(graph, settings, regions, fastest) - *saved};
  // What gains too little to be on integers by itself may lose some time there.
  time.fastest = std::min(time.fastest, time.quantized);
  return time.floats > 0 && time.quantized > 0 ? std::optional(time) : std::nullopt;
}

}  // namespace tare
