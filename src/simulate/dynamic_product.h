#pragma once

#include "tare/node.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tare {

/// An operand with constant float weights, and the axis along which their results vary.
struct DynamicWeight {
  std::size_t operand = 0;
  int axis = 0;
};

/// Of a product of a computed operand and such weights that can quantize that operand while it
/// runs, a Conv, Gemm or MatMul, or of an LSTM, which does that for inputs and states. None for
/// other nodes.
std::vector<DynamicWeight> dynamic_weights(const Graph&, const Node&);

/// The operator on integers that does so.
std::string dynamic_kernel(const Node&);

}  // namespace tare
