#include "support/graphs.h"

#include <algorithm>

namespace tare::test {

ValueId add(Graph& graph, std::string op, std::vector<ValueId> inputs, Shape result,
            Attributes attributes) {
  const std::string name = graph.unique_name(op);
  const NodeId node = graph.add_node(name, std::move(op), std::move(inputs),
                                     {{name, f32(std::move(result))}}, std::move(attributes));
  return graph.node(node).outputs[0];
}

std::map<std::string, int> operator_counts(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId id : graph.nodes()) {
    ++counts[graph.node(id).op];
  }
  return counts;
}

std::size_t count_of(const Graph& graph, std::string_view op) {
  const std::vector<NodeId> nodes = graph.nodes();
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [&](NodeId id) { return graph.node(id).op == op; }));
}

}  // namespace tare::test
