#pragma once

#include "tare/graph.h"

#include <map>
#include <span>

namespace tare {

/// Part of a graph as a graph of its own, without outputs.
struct Subgraph {
  Graph graph;
  /// Inputs of the part, as values of the whole, in the order of graph.inputs().
  std::vector<ValueId> inputs;
  /// What each value of the whole that came along is in the part.
  std::map<ValueId, ValueId> values;
};

/// What computes `results` from `sources` and the inputs of the graph. Those that are needed
/// become the part's inputs: first inputs of the graph, then sources, each in their order.
Subgraph subgraph(const Graph&, std::span<const ValueId> sources,
                  std::span<const ValueId> results);

}  // namespace tare
