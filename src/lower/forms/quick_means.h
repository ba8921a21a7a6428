#pragma once

#include "tare/graph.h"

namespace tare {

/// Writes means over the last axis but one as products with a row of equal numbers, where there
/// are enough elements that it is worth it. ONNX Runtime adds the elements of such a mean one
/// by one. Results differ by roundings in float32.
Graph with_quick_means(Graph onnx);

/// The way back.
Graph read_quick_means(Graph onnx);

}  // namespace tare
