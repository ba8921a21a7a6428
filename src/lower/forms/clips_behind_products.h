#pragma once

#include "tare/graph.h"

namespace tare {

/// A written graph in which no Relu or Clip that is read in float follows a Gemm or MatMul of
/// quantized operands: Max and Min are in its place, with the same results. ONNX Runtime 1.21
/// and 1.30 expect a QuantizeLinear behind such a Relu or Clip, and where there is none, they
/// dequantize both operands in each run and multiply in float.
Graph with_clips_behind_products(Graph onnx);

}  // namespace tare
