#pragma once

#include "tare/graph.h"

namespace tare {

/// The result, called like that or nearly so, of a new operator of the same name.
inline ValueId add_operator(Graph& graph, const std::string& op, std::vector<ValueId> inputs,
                            const TensorType& type, const std::string& name,
                            Attributes attributes = {}) {
  const std::string unique = graph.unique_name(name);
  const NodeId id =
      graph.add_node(unique, op, std::move(inputs), {{unique, type}}, std::move(attributes));
  return graph.node(id).outputs[0];
}

}  // namespace tare
