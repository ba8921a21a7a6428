#pragma once

#include "tare/node.h"

namespace tare {

/// A written graph in which products with weights in blocks read no DequantizeLinear but what
/// it stands for: Cast, Sub and Mul. ONNX Runtime takes two of DequantizeLinear before a
/// product for one of integers, whatever scales they have, and then cannot run it.
Graph with_real_operands(Graph onnx);

}  // namespace tare
