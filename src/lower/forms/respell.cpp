#include "lower/forms/respell.h"

namespace tare {

std::string producer_op(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  return producer ? graph.node(*producer).op : std::string();
}

const Node* lone_producer(const Graph& graph, ValueId value, const char* op) {
  const auto producer = graph.producer(value);
  return producer && graph.node(*producer).op == op && graph.single_use(value)
             ? &graph.node(*producer)
             : nullptr;
}

void replace(Graph& graph, NodeId id, ValueId by) {
  const Node node = graph.node(id);
  const std::string name = graph.name(node.outputs[0]);
  graph.replace_uses(node.outputs[0], by);
  graph.erase(id);
  graph.rename(by, name);
  const NodeId last = *graph.producer(by);
  graph.rename(last, node.name);
  graph.set_origins(last, node.origins);
}

}  // namespace tare
