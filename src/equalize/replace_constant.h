#pragma once

#include "tare/graph.h"

namespace tare {

/// Puts another constant in the place of one that nothing else reads, and gives it the name.
inline void replace_constant(Graph& graph, NodeId node, std::size_t operand, Tensor tensor) {
  const ValueId old = graph.node(node).inputs[operand];
  const std::string name = graph.name(old);
  const ValueId replacement = graph.add_constant(graph.unique_name(name), std::move(tensor));
  graph.set_input(node, operand, replacement);
  graph.erase(old);
  graph.rename(replacement, name);
}

}  // namespace tare
