#pragma once

#include "tare/graph.h"

namespace tare {

/// A written graph with operators of real values that ONNX Runtime is faster at. Means over the
/// last axis but one, which it adds up one by one, are products with a row of equal numbers,
/// where their length is fixed; results differ by roundings in float32. Pow(x, 2) is x * x, and
/// a Flatten, which version 1.21 copies, is a Reshape.
Graph with_quick_operators(Graph onnx);

/// The same graph with means and Flattens spelled as they were.
Graph read_quick_operators(Graph onnx);

}  // namespace tare
