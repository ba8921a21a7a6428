#pragma once

#include "tare/node.h"

namespace tare {

/// What constants of a graph of ONNX's operators have whose integers files hold in 4 bits: the
/// number of bits counts, scale and zero point stand beside them in operands.
inline QuantParams packed_params(DType storage) {
  QuantParams params;
  params.storage = storage;
  params.bits = 4;
  return params;
}

inline bool is_packed(const TensorType& type) {
  return type.quant && type.quant->bits > 0 && type.quant->bits <= 4;
}

}  // namespace tare
