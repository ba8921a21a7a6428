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

bool is_product_of_quantized(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer || !graph.single_use(value)) {
    return false;
  }
  const Node& node = graph.node(*producer);
  return (node.op == "Gemm" || node.op == "MatMul") &&
         producer_op(graph, node.inputs[0]) == "DequantizeLinear" &&
         producer_op(graph, node.inputs[1]) == "DequantizeLinear";
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
