// Regions taken out of a graph: each as a network of its own, and what is left of the graph
// with one node in the place of each, which holds the region as text and runs like it. Linear
// in the graph.
#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Constants of more elements are operands of the node, so that its text stays short.
constexpr std::int64_t kLongestConstant = 64;

/// The node's attributes, those of a Requantize in fixed-point arithmetic with its factors.
Attributes in_integers(const Graph& graph, const Node& node) {
  Attributes attributes = node.attributes;
  if (node.op == "Requantize" &&
      requantize_mode(attributes).arithmetic == RequantizeArithmetic::kFixedPoint) {
    set_fixed_point_factors(attributes, rescaling_factors(graph, node));
  }
  return attributes;
}

/// The region with its computed inputs, then those constants that `is_input` holds for, as
/// inputs.
template <class IsInput>
Graph cut_out(const Graph& graph, const OffloadRegion& region, const IsInput& is_input) {
  Graph result;
  result.graph_name = graph.node(region.match.root()).name;
  result.opset = graph.opset;
  result.affine_rows = graph.affine_rows;
  result.reshape = graph.reshape;
  std::map<ValueId, ValueId> copies;
  for (const ValueId input : region.inputs) {
    copies[input] = result.add_input(graph.name(input), graph.type(input));
  }
  for (const ValueId constant : region.constants) {
    copies[constant] =
        is_input(constant)
            ? result.add_input(graph.name(constant), graph.type(constant))
            : result.add_constant(graph.name(constant), *graph.constant(constant),
                                  graph.type(constant));
  }
  for (const NodeId id : region.nodes) {
    const Node& node = graph.node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input ? copies.at(input) : ValueId{});
    }
    std::vector<NamedType> results;
    for (const ValueId output : node.outputs) {
      results.push_back({graph.name(output), graph.type(output)});
    }
    const NodeId copy = result.add_node(node.name, node.op, std::move(inputs),
                                        std::move(results), in_integers(graph, node));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      copies[node.outputs[i]] = result.node(copy).outputs[i];
    }
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : region.outputs) {
    outputs.push_back(copies.at(output));
  }
  result.set_outputs(std::move(outputs));
  return result;
}

bool is_long(const Graph& graph, ValueId constant) {
  return element_count(graph.type(constant).shape) > kLongestConstant;
}

/// Puts one node in the place of the region.
void replace(Graph& graph, const OffloadRegion& region) {
  std::vector<ValueId> inputs = region.inputs;
  std::vector<std::string> captured;
  for (const ValueId constant : region.constants) {
    if (is_long(graph, constant)) {
      inputs.push_back(constant);
      captured.push_back(graph.name(constant));
    }
  }
  const std::string body =
      print(cut_out(graph, region, [&](ValueId constant) { return is_long(graph, constant); }));
  std::vector<NamedType> results;
  std::vector<std::string> names;
  for (const ValueId output : region.outputs) {
    names.push_back(graph.name(output));
    results.push_back({graph.unique_name(names.back() + "_region"), graph.type(output)});
  }
  Attributes attributes;
  attributes.set("unit", region.pattern);
  attributes.set("body", body);
  if (!captured.empty()) {
    attributes.set("captured", captured);
  }
  const std::string name = graph.node(region.match.root()).name;
  const NodeId node = graph.add_node(graph.unique_name(name + "_region"), "Region",
                                     std::move(inputs), std::move(results), attributes);
  for (std::size_t i = 0; i < names.size(); ++i) {
    graph.replace_uses(region.outputs[i], graph.node(node).outputs[i]);
  }
  for (auto id = region.nodes.rbegin(); id != region.nodes.rend(); ++id) {
    graph.erase(*id);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    graph.rename(graph.node(node).outputs[i], names[i]);
  }
  graph.rename(node, name);
}

bool is_of(const ExportOperator& exported, const Target& target) {
  return exported.targets.empty() ||
         std::any_of(exported.targets.begin(), exported.targets.end(),
                     [&](const std::string& name) {
                       return name == target.name || name == target.extends;
                     });
}

}  // namespace

std::vector<FixedPointFactor> rescaling_factors(const Graph& graph, const Node& requantize) {
  std::vector<FixedPointFactor> factors = fixed_point_factors(requantize.attributes);
  if (factors.empty()) {
    const auto to = static_cast<double>(graph.type(requantize.outputs[0]).quant->scale[0]);
    for (const float from : graph.type(requantize.inputs[0]).quant->scale) {
      factors.push_back(fixed_point_factor(static_cast<double>(from) / to));
    }
  }
  return factors;
}

Graph region_graph(const Graph& graph, const OffloadRegion& region) {
  return cut_out(graph, region, [](ValueId) { return false; });
}

Graph with_region_nodes(Graph graph, const std::vector<OffloadRegion>& regions) {
  std::map<ValueId, ValueId> replaced;
  for (OffloadRegion region : regions) {
    for (ValueId& input : region.inputs) {
      const auto found = replaced.find(input);
      input = found == replaced.end() ? input : found->second;
    }
    std::vector<std::string> names;
    for (const ValueId output : region.outputs) {
      names.push_back(graph.name(output));
    }
    replace(graph, region);
    for (std::size_t i = 0; i < names.size(); ++i) {
      replaced[region.outputs[i]] = *graph.find_value(names[i]);
    }
  }
  graph.erase_unused_constants();
  verify(graph);
  return graph;
}

Graph with_export_operators(Graph integer, const Target& target,
                            std::span<const ExportOperator> exports) {
  std::vector<const ExportOperator*> own;
  for (const ExportOperator& exported : exports) {
    if (is_of(exported, target)) {
      own.push_back(&exported);
    }
  }
  std::stable_sort(own.begin(), own.end(), [](const auto* a, const auto* b) {
    return a->benefit != b->benefit ? a->benefit > b->benefit : a->name < b->name;
  });
  std::vector<OffloadPattern> patterns;
  for (const ExportOperator* exported : own) {
    patterns.push_back({std::string(exported->name), exported->pattern()});
  }
  const std::vector<OffloadRegion> regions = partition(integer, patterns);
  std::map<std::string, Attributes> said;  // by node
  for (const OffloadRegion& region : regions) {
    const ExportOperator& exported = **std::find_if(
        own.begin(), own.end(), [&](const auto* one) { return one->name == region.pattern; });
    Attributes attributes =
        exported.attributes ? exported.attributes(integer, region) : Attributes{};
    attributes.set("domain", std::string(exported.domain));
    attributes.set("op_type", std::string(exported.op));
    said.emplace(integer.node(region.match.root()).name, std::move(attributes));
  }
  Graph result = with_region_nodes(std::move(integer), regions);
  for (const auto& [name, attributes] : said) {
    const NodeId id = *result.find_node(name);
    Attributes all = result.node(id).attributes;
    for (const auto& [key, value] : attributes.items()) {
      all.set(key, value);
    }
    result.set_attributes(id, std::move(all));
  }
  return result;
}

}  // namespace tare
