#pragma once

#include "tare/graph.h"

#include <map>
#include <span>
#include <string>

namespace tare::test {

/// Whether the graph takes inputs of these shapes: its own ones, or others where its model
/// leaves extents open. What is not named is taken.
bool takes(const Graph&, const std::map<std::string, Tensor>& inputs);

/// The graph for inputs of these shapes, which it takes.
Graph for_shapes_of(const Graph&, std::span<const Tensor> inputs);

}  // namespace tare::test
