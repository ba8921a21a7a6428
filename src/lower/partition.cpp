// Cuts a graph into regions that a device runs as one, greedily: patterns in the order given,
// each at all nodes, and nodes that are taken stay taken. Only the root of a region is read
// from outside, which keeps regions from waiting for each other in a circle without looking at
// paths. Cost: patterns times nodes.

#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/pattern.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tare {
namespace {

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

bool is_needed_outside(const Graph& graph, ValueId value, const std::vector<NodeId>& nodes) {
  const auto& users = graph.users(value);
  return graph.is_output(value) || !std::all_of(users.begin(), users.end(), [&](NodeId user) {
           return contains(nodes, user);
         });
}

bool is_closed(const Graph& graph, const Match& match) {
  return std::all_of(match.nodes().begin() + 1, match.nodes().end(), [&](NodeId inner) {
    const auto& results = graph.node(inner).outputs;
    return std::none_of(results.begin(), results.end(), [&](ValueId result) {
      return is_needed_outside(graph, result, match.nodes());
    });
  });
}

void add_once(std::vector<ValueId>& values, ValueId value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(value);
  }
}

OffloadRegion region_of(const Graph& graph, const std::string& pattern, const Match& match,
                        std::vector<NodeId> nodes) {
  OffloadRegion region{pattern, match, std::move(nodes), {}, {}, {}};
  for (const NodeId id : region.nodes) {
    for (const ValueId operand : graph.node(id).inputs) {
      const auto producer = operand ? graph.producer(operand) : std::nullopt;
      if (operand && !(producer && contains(region.nodes, *producer))) {
        add_once(graph.constant(operand) != nullptr ? region.constants : region.inputs,
                 operand);
      }
    }
  }
  for (const ValueId result : graph.node(match.root()).outputs) {
    if (is_needed_outside(graph, result, region.nodes)) {
      region.outputs.push_back(result);
    }
  }
  return region;
}

bool is_among_storage_values(const Graph& graph, const Node& node) {
  const auto is_storage = [&](ValueId value) { return graph.type(value).quant.has_value(); };
  const auto is_storage_or_setting = [&](ValueId operand) {
    return !operand || graph.constant(operand) != nullptr || is_storage(operand);
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), is_storage_or_setting) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), is_storage);
}

}  // namespace

std::vector<OffloadRegion> partition(const Graph& graph,
                                     const std::vector<OffloadPattern>& patterns) {
  const std::vector<NodeId> order = graph.topological_order();
  std::map<NodeId, std::size_t> position;
  for (const NodeId id : order) {
    position.emplace(id, position.size());
  }
  std::map<std::size_t, OffloadRegion> by_root;
  std::set<NodeId> taken;
  for (const auto& [name, pattern] : patterns) {
    // From the last one on, so that optional parts behind others belong to the region, too.
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const NodeId root = *at;
      const std::optional<Match> match = pattern.match(graph, root);
      if (!match || !is_closed(graph, *match)) {
        continue;
      }
      std::vector<NodeId> nodes = match->nodes();
      if (std::any_of(nodes.begin(), nodes.end(),
                      [&](NodeId node) { return taken.contains(node); })) {
        continue;
      }
      taken.insert(nodes.begin(), nodes.end());
      std::sort(nodes.begin(), nodes.end(),
                [&](NodeId a, NodeId b) { return position.at(a) < position.at(b); });
      by_root.emplace(position.at(root), region_of(graph, name, *match, std::move(nodes)));
    }
  }
  // All that a region reads is there before its root runs, and what it computes is the root's.
  std::vector<OffloadRegion> regions;
  regions.reserve(by_root.size());
  for (auto& [_, region] : by_root) {
    regions.push_back(std::move(region));
  }
  return regions;
}

std::vector<OffloadPattern> integer_patterns() {
  const Pattern product =
      op_of({"Conv", "ConvTranspose", "Gemm", "MatMul"})
          .with(any().as("input"), any().as("weight"), optional(any().as("bias")))
          .as("product");
  const Pattern requantized = op("Requantize").with(product);
  return {{"product_activation", op_of({"Relu", "Clip"}).with(requantized).with_more()},
          {"product", requantized},
          {"real_product", op("Dequantize").with(product)},
          {"operator", any_op().where(is_among_storage_values, "is among storage values")}};
}

}  // namespace tare
