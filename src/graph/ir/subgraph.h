#pragma once

#include "tare/graph.h"

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace tare {

/// Part of a graph as a graph of its own, without outputs.
struct Subgraph {
  Graph graph;
  /// Inputs of the part, as values of the whole, in the order of graph.inputs().
  std::vector<ValueId> inputs;
  /// What each value of the whole that came along is in the part.
  std::map<ValueId, ValueId> values;
};

/// Cuts parts out of a graph; what one of them costs depends on its own size. The graph must
/// outlive it, as it is.
class GraphCutter {
 public:
  explicit GraphCutter(const Graph&);

  /// What computes `results` from `sources` and the inputs of the graph. Those that are needed
  /// become the part's inputs: first inputs of the graph, then sources, each in their order.
  Subgraph cut(std::span<const ValueId> sources, std::span<const ValueId> results) const;

 private:
  const Graph& whole_;
  std::vector<std::size_t> places_;  ///< of each node in topological order, by its index
};

/// One part of a graph.
Subgraph subgraph(const Graph&, std::span<const ValueId> sources,
                  std::span<const ValueId> results);

}  // namespace tare
