#pragma once

#include "tare/graph.h"

#include <span>
#include <vector>

namespace tare {

/// Reverse-mode differentiation as operators of the same graph: adds what computes the
/// gradients of a sum over results, each weighted with a value of its shape, with respect to
/// values of the graph. These are inputs, or are computed; the gradients come in their order,
/// as f32 values of their shapes. A value that no result depends on has a gradient of zeros.
/// Rounding is passed straight through (Bengio, Leonard and Courville, "Estimating or
/// Propagating Gradients Through Stochastic Neurons for Conditional Computation", 2013). Where
/// an operator has no derivative (Relu at 0) one of its sides counts. Throws
/// Error(kUnsupported), naming the node, where an operator between them has no rule. Added
/// operators: a few for each one between `of` and `results`.
std::vector<ValueId> add_gradients(Graph&, std::span<const ValueId> results,
                                   std::span<const ValueId> weights,
                                   std::span<const ValueId> of);

}  // namespace tare
