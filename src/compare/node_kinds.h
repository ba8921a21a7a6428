#pragma once

#include "tare/graph.h"

namespace tare {

/// Between real and storage values, or two kinds of storage values.
inline bool is_conversion(const Node& node) {
  return node.op == "Quantize" || node.op == "Dequantize" || node.op == "Requantize";
}

/// What saturation may do the work of.
inline bool is_activation(const Node& node) {
  return node.op == "Relu" || node.op == "Clip";
}

}  // namespace tare
