#pragma once

#include "tare/graph.h"

namespace tare {

/// A written graph in which a Reshape that changes nothing lies between operators that ONNX
/// Runtime would make one of, to its own harm: a sum and the LayerNormalization that reads it,
/// a SkipLayerNormalization that takes three times as long as both in version 1.30; and a
/// MatMul on integers and the Add of its bias, a Gemm that version 1.30 computes in float, with
/// weights that it dequantizes in each run.
Graph with_unfused_operators(Graph onnx);

/// The same graph without these.
Graph read_unfused_operators(Graph);

}  // namespace tare
