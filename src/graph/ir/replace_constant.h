#pragma once

#include "tare/graph.h"

#include <string>
#include <utility>

namespace tare {

/// Puts another constant in the place of one, for all that read it, and gives it the name.
inline void replace_constant(Graph& graph, ValueId old, Tensor tensor) {
  const std::string name = graph.name(old);
  const ValueId replacement = graph.add_constant(graph.unique_name(name), std::move(tensor));
  graph.replace_uses(old, replacement);
  graph.erase(old);
  if (graph.name(replacement) != name) {  // that of an output goes along with its use
    graph.rename(replacement, name);
  }
}

}  // namespace tare
