#pragma once

#include "tare/graph.h"
#include "tare/pattern.h"

#include <string>
#include <vector>

namespace tare {

/// A shape of graphs that a device runs as one.
struct OffloadPattern {
  std::string name;
  Pattern pattern;
};

/// Nodes that a device may run as one. In an integer graph `graph.type(value).quant` gives the
/// parameters of everything it reads and computes.
struct OffloadRegion {
  std::string pattern;             ///< name of the one that matched
  Match match;                     ///< its captures, and the root: the node that comes last
  std::vector<NodeId> nodes;       ///< in topological order
  std::vector<ValueId> inputs;     ///< computed elsewhere, in the order in which they are read
  std::vector<ValueId> constants;  ///< likewise: weights, biases, limits, shapes
  std::vector<ValueId> outputs;    ///< results of the root that something else reads
};

/// Regions of the graph, in an order in which they can run; no two share a node. Nothing but
/// the root's results is read outside of a region or is a graph output, so no path leaves a
/// region and comes back, and regions never wait for each other in a circle. Patterns are tried
/// one after the other, each at all nodes, so larger ones belong first. At each node only the
/// first way in which a pattern matches is considered; patterns that are to choose between
/// several say single_use() of what has to stay inside.
std::vector<OffloadRegion> partition(const Graph&, const std::vector<OffloadPattern>&);

/// What the canonical integer graph consists of, for devices that run all of it:
///   product_activation  Conv, ConvTranspose, Gemm or MatMul, its Requantize, and Relu or Clip
///   product             the same without activation
///   real_product        one of those four and the Dequantize of its sums
///   operator            any other node whose operands and results are storage values
/// The first three capture "product", "input", "weight" and, where there is one, "bias".
/// Relu is no node where the storage type saturates at 0 itself.
std::vector<OffloadPattern> integer_patterns();

}  // namespace tare
