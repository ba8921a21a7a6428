#pragma once

#include "graph/ir/subgraph.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tare {

/// A layer of a network alone, or with the one behind it: what may be on integers there.
struct Segment {
  std::string shape;                ///< layer_shape() of all of it
  std::vector<std::string> layers;  ///< layer_shape() of each
  std::vector<NodeId> nodes;        ///< in topological order
  std::vector<ValueId> operands;    ///< that are not constant
  ValueId result;
  std::size_t count = 1;  ///< how often the network has it
  double work = 0;        ///< multiplications
};

/// Those of a network whose layers are all on integers: of equal ones the first, single layers
/// before pairs, and of each kind those with the most work first.
std::vector<Segment> segments(const SimulatedGraph&);

/// As a network of its own.
Graph segment_graph(const GraphCutter&, const Graph&, const Segment&);

}  // namespace tare
