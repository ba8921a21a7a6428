#pragma once

#include "tare/graph.h"

namespace tare {

/// Whether the node was an activation made of exponentials (Elu, Selu, Softplus, or Mish as
/// x * Tanh(Softplus(x))) of so many elements that it is worth it, and is now spelled with Exp,
/// which ONNX Runtime computes by vector code. Results differ by roundings in float32.
bool spell_exponential(Graph&, NodeId);

/// Whether the node ended such a spelling, and is the activation again.
bool read_exponential(Graph&, NodeId);

}  // namespace tare
