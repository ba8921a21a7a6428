// Cuts parts out of a graph: backward from results to sources for what is needed, then copied
// in the order of the whole, which is known beforehand. So the cost of a part is that of its
// own size, and that of all parts of a network is not the square of it.
#include "graph/ir/subgraph.h"

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

GraphCutter::GraphCutter(const Graph& whole) : whole_(whole) {
  std::size_t place = 0;
  for (const NodeId id : whole.topological_order()) {
    places_.resize(std::max<std::size_t>(places_.size(), id.index + 1));
    places_[id.index] = place++;
  }
}

Subgraph GraphCutter::cut(std::span<const ValueId> sources,
                          std::span<const ValueId> results) const {
  const std::set<ValueId> cut(sources.begin(), sources.end());
  const std::set<ValueId> needed = needed_values(whole_, cut, results);
  Subgraph part;
  part.graph.affine_rows = whole_.affine_rows;
  part.graph.reshape = whole_.reshape;
  const auto add_inputs = [&](std::span<const ValueId> values) {
    for (const ValueId value : values) {
      if (needed.contains(value) && !part.values.contains(value)) {
        part.inputs.push_back(value);
        part.values[value] = part.graph.add_input(whole_.name(value), whole_.type(value));
      }
    }
  };
  add_inputs(whole_.inputs());
  for (const ValueId input : part.inputs) {
    const auto names = whole_.dimension_names.find(whole_.name(input));
    if (names != whole_.dimension_names.end()) {
      part.graph.dimension_names.insert(*names);
    }
  }
  add_inputs(sources);
  std::map<std::size_t, NodeId> nodes;  // by their place
  for (const ValueId value : needed) {
    if (const Tensor* constant = whole_.constant(value)) {
      part.values[value] =
          part.graph.add_constant(whole_.name(value), *constant, whole_.type(value));
    } else if (const auto producer = whole_.producer(value); producer && !cut.contains(value)) {
      nodes.emplace(places_[producer->index], *producer);
    }
  }
  for (const auto& [place, id] : nodes) {
    const Node& node = whole_.node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input ? part.values.at(input) : ValueId());
    }
    std::vector<NamedType> outputs;
    for (const ValueId output : node.outputs) {
      // An output that is a source too is there already, under its name.
      const std::string& name = whole_.name(output);
      outputs.push_back({part.values.contains(output) ? part.graph.unique_name(name) : name,
                         whole_.type(output)});
    }
    const NodeId copy = part.graph.add_node(node.name, node.op, std::move(inputs),
                                            std::move(outputs), node.attributes);
    part.graph.set_origins(copy, node.origins);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      part.values.emplace(node.outputs[i], part.graph.node(copy).outputs[i]);
    }
  }
  return part;
}

Subgraph subgraph(const Graph& whole, std::span<const ValueId> sources,
                  std::span<const ValueId> results) {
  return GraphCutter(whole).cut(sources, results);
}

}  // namespace tare
