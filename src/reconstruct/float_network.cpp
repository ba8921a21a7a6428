#include "reconstruct/float_network.h"

#include "tare/execute.h"

#include "base/parallel.h"
#include "execute/run/workers.h"
#include "graph/ir/subgraph.h"
#include "graph/operators/scores.h"

#include <algorithm>
#include <optional>

namespace tare {

bool is_enabled(const QuantTable& table, const std::string& point) {
  const auto found = table.find(point);
  return found != table.end() && found->second.enabled;
}

FloatNetwork::FloatNetwork(const SimulatedGraph& simulated)
    : simulated_(simulated), exact_(fake_quantized_graph(simulated, {}, 1)) {
  exact_.graph = up_to_scores(std::move(exact_.graph));
  for (const auto& constant : exact_.constants) {
    points_.emplace(constant.value, constant.point);
  }
  const std::size_t inputs = simulated.source.inputs().size();
  for (std::size_t i = 0; i < exact_.points.size(); ++i) {
    ranges_.emplace(graph().inputs()[inputs + i], exact_.points[i]);
  }
}

const QuantPoint* FloatNetwork::point_of(ValueId value) const {
  for (const auto* names : {&points_, &ranges_}) {
    if (const auto found = names->find(value); found != names->end()) {
      return simulated_.find(found->second);
    }
  }
  return nullptr;
}

Tensor FloatNetwork::range(ValueId input, const QuantTable& table) const {
  const std::string& point = ranges_.at(input);
  return is_enabled(table, point) ? enabled_point(table.at(point).params) : disabled_point();
}

Tensor FloatNetwork::constant(ValueId value, const QuantTable& table) const {
  return after_quantization(*graph().constant(value), *point_of(value), table);
}

RunValues FloatNetwork::run(const Block& block, const RunValues& sources,
                            const QuantTable& table, int threads) const {
  Subgraph part = subgraph(graph(), block.sources, block.results);
  const std::size_t runs = sources.begin()->second.size();
  RunValues results;
  std::vector<ValueId> computed;
  std::vector<ValueId> outputs;
  for (const ValueId value : block.results) {
    if (const auto found = sources.find(value); found != sources.end()) {
      results.insert(*found);  // it passes by
    } else {
      computed.push_back(value);
      outputs.push_back(part.values.at(value));
      results[value].resize(runs);
    }
  }
  if (computed.empty()) {
    return results;
  }
  for (const auto& [value, own] : part.values) {
    if (points_.contains(value)) {
      const std::string name = part.graph.unique_name(points_.at(value) + "_now");
      part.graph.replace_uses(own, part.graph.add_constant(name, constant(value, table)));
    }
  }
  part.graph.set_outputs(outputs);
  part.graph.erase_unused();
  const Executable executable(part.graph);
  std::vector<std::optional<Executable::Workspace>> workspaces(
      static_cast<std::size_t>(threads));
  parallel_for(
      runs, worker_count(executable, threads), [&](std::size_t worker, std::size_t run) {
        if (!workspaces[worker]) {
          workspaces[worker].emplace(executable);
        }
        std::vector<Tensor> inputs;
        for (const ValueId input : part.inputs) {
          inputs.push_back(is_range(input) ? range(input, table) : sources.at(input)[run]);
        }
        const auto tensors = executable.run(*workspaces[worker], inputs);
        for (std::size_t i = 0; i < computed.size(); ++i) {
          results.at(computed[i])[run] = tensors[i];
        }
      });
  return results;
}

}  // namespace tare
