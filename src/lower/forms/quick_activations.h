#pragma once

#include "tare/graph.h"

namespace tare {

/// A written graph with activations of real values in operators that ONNX Runtime computes
/// faster. Elu, Selu, Softplus and Mish are made of Exp (quick_exponentials.h). PRelu and
/// LeakyRelu, whose kernels branch at each element, are the larger one of x and slope * x where
/// no slope is above 1 or 0, or else Relu(x) + slope * Min(x, 0), with the same results; a
/// LeakyRelu that the engine merges with the convolution before it stays.
Graph with_quick_activations(Graph onnx);

/// The same graph with these spelled as they were, as far as that can be told.
Graph read_quick_activations(Graph);

}  // namespace tare
