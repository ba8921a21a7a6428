#pragma once

#include "tare/node.h"

#include <cstddef>

namespace tare {

/// Where nearly all operators got bfloat16.
inline constexpr int kOpsetOfBfloat16 = 22;

/// Whether ONNX has the operator on real values of that type in an opset.
bool computes_in(const Node&, DType, int opset);
/// Whether that operand is float32 whatever type the operator computes in.
bool is_always_float32(const Node&, std::size_t operand);

/// Real values rounded to another floating type. Values beyond its range become infinite.
Tensor in_float_type(const Tensor&, DType);

}  // namespace tare
