#include "graph/subgraph.h"

#include <algorithm>
#include <set>

namespace tare {
namespace {

/// The values that `results` are computed from, themselves included, back to `sources`.
std::set<ValueId> needed_values(const Graph& graph, const std::set<ValueId>& sources,
                                std::span<const ValueId> results) {
  std::set<ValueId> needed;
  std::vector<ValueId> open(results.begin(), results.end());
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (!value || !needed.insert(value).second || sources.contains(value)) {
      continue;
    }
    if (const auto producer = graph.producer(value)) {
      const auto& inputs = graph.node(*producer).inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }
  return needed;
}

}  // namespace

Subgraph subgraph(const Graph& whole, std::span<const ValueId> sources,
                  std::span<const ValueId> results) {
  const std::set<ValueId> cut(sources.begin(), sources.end());
  const std::set<ValueId> needed = needed_values(whole, cut, results);
  Subgraph part;
  const auto add_inputs = [&](std::span<const ValueId> values) {
    for (const ValueId value : values) {
      if (needed.contains(value) && !part.values.contains(value)) {
        part.inputs.push_back(value);
        part.values[value] = part.graph.add_input(whole.name(value), whole.type(value));
      }
    }
  };
  add_inputs(whole.inputs());
  add_inputs(sources);
  for (const ValueId value : needed) {
    if (const Tensor* constant = whole.constant(value)) {
      part.values[value] =
          part.graph.add_constant(whole.name(value), *constant, whole.type(value));
    }
  }
  for (const NodeId id : whole.topological_order()) {
    const Node& node = whole.node(id);
    const bool computed = std::any_of(
        node.outputs.begin(), node.outputs.end(),
        [&](ValueId output) { return needed.contains(output) && !cut.contains(output); });
    if (!computed) {
      continue;
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input ? part.values.at(input) : ValueId());
    }
    std::vector<Graph::Result> outputs;
    for (const ValueId output : node.outputs) {
      // An output that is a source too is there already, under its name.
      const std::string& name = whole.name(output);
      outputs.push_back({part.values.contains(output) ? part.graph.unique_name(name) : name,
                         whole.type(output)});
    }
    const NodeId copy = part.graph.add_node(node.name, node.op, std::move(inputs),
                                            std::move(outputs), node.attributes);
    part.graph.set_took_over(copy, node.took_over);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      part.values.emplace(node.outputs[i], part.graph.node(copy).outputs[i]);
    }
  }
  return part;
}

}  // namespace tare
