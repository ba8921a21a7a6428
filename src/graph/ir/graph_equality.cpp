#include "tare/graph.h"

#include <map>
#include <span>

namespace tare {
namespace {

/// Everything that tells two graphs apart, by name instead of by handle.
struct NamedNode {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, TensorType>> outputs;
  Attributes attributes;

  friend bool operator==(const NamedNode&, const NamedNode&) = default;
};

std::string name_or_absent(const Graph& graph, ValueId id) {
  return id ? graph.name(id) : std::string();
}

std::vector<NamedNode> named_nodes(const Graph& graph) {
  std::vector<NamedNode> result;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    NamedNode named{node.name, node.op, {}, {}, node.attributes};
    for (const ValueId input : node.inputs) {
      named.inputs.push_back(name_or_absent(graph, input));
    }
    for (const ValueId output : node.outputs) {
      named.outputs.emplace_back(graph.name(output), graph.type(output));
    }
    result.push_back(std::move(named));
  }
  return result;
}

std::map<std::string, std::pair<TensorType, Tensor>> named_constants(const Graph& graph) {
  std::map<std::string, std::pair<TensorType, Tensor>> result;
  for (const ValueId id : graph.values()) {
    if (const Tensor* tensor = graph.constant(id)) {
      result.emplace(graph.name(id), std::pair(graph.type(id), *tensor));
    }
  }
  return result;
}

std::vector<std::pair<std::string, TensorType>> interface_of(const Graph& graph,
                                                             std::span<const ValueId> ids) {
  std::vector<std::pair<std::string, TensorType>> result;
  for (const ValueId id : ids) {
    result.emplace_back(graph.name(id), graph.type(id));
  }
  return result;
}

}  // namespace

bool operator==(const Graph& a, const Graph& b) {
  return a.graph_name == b.graph_name && a.opset == b.opset &&
         a.dimension_names == b.dimension_names && a.file_types == b.file_types &&
         interface_of(a, a.inputs()) == interface_of(b, b.inputs()) &&
         interface_of(a, a.outputs()) == interface_of(b, b.outputs()) &&
         named_constants(a) == named_constants(b) && named_nodes(a) == named_nodes(b);
}

}  // namespace tare
