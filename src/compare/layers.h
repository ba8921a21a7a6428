#pragma once

#include "tare/node.h"

#include "compare/match.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// A part of both graphs that computes the same: what lies between values that stand for each
/// other. Operators that only move or pick elements belong to what reads them, and a Relu or
/// Clip to what alone it reads; so does another activation function that reads a rounded value.
struct ComparedLayer {
  NodeId main;                  ///< of the float graph: the product, or else what computes most
  std::vector<NodeId> nodes;    ///< of the float graph, in topological order
  std::vector<ValueId> inputs;  ///< of the float graph: results of layers and graph inputs
  ValueId real;                 ///< its result in the float graph
  ValueId quantized;            ///< what the readers of it read in the integer graph
  /// Of the float graph: what the result is added to in front of a Relu (rectified_sum.h), if
  /// it is rounded in between. Absent otherwise.
  ValueId other;
};

/// An activation that the integer graph rounds.
struct ComparedPoint {
  std::string name;  ///< of the real value; a second point on it has a number
  ValueId real;
  ValueId storage;  ///< of the integer graph; 8 or 16 bits
  ValueId other;    ///< as that of a layer
};

struct Comparison {
  Correspondence same;
  std::vector<ComparedLayer> layers;       ///< in topological order of the float graph
  std::vector<ComparedPoint> points;       ///< likewise
  std::map<NodeId, std::size_t> layer_of;  ///< of the float graph; the first that has the node
};

Comparison find_layers(const Graph& prepared, const Graph& integer);

/// Storage values of 8 or 16 bits: an activation, not accumulators.
bool is_rounded_activation(const TensorType&);

}  // namespace tare
