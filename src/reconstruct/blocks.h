#pragma once

#include "tare/graph.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace tare {

/// How much of a network is reconstructed at a time.
enum class Grain : std::uint8_t {
  kLayer,  ///< one layer with weights, up to the next one
  kBlock,  ///< what lies between values through which everything passes
};

/// Consecutive nodes of a graph in topological order.
struct Block {
  std::vector<NodeId> nodes;
  std::vector<ValueId> sources;  ///< that are known before it and that something behind reads
  std::vector<ValueId> results;  ///< the same behind it: what it computes, or passes by
  std::size_t layers = 0;        ///< nodes with weights
};

/// Cuts a graph into blocks before nodes for which `is_layer` holds, so that each has one at
/// least, or is the rest. Of kBlock each goes from one value through which all data passes to
/// another, with two layers or more; what would have more than `most_layers` is cut layer by
/// layer. `is_data` says which inputs are data, which pass from block to block. Time:
/// linear in the graph and in the values that pass by blocks.
std::vector<Block> plan_blocks(const Graph&, Grain, std::size_t most_layers,
                               const std::function<bool(NodeId)>& is_layer,
                               const std::function<bool(ValueId input)>& is_data);

}  // namespace tare
