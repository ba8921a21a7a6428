#pragma once

#include "tare/graph.h"

#include <vector>

namespace tare {

/// Operators that together compute a function of each element of a value.
struct ElementwiseFunction {
  std::vector<NodeId> operators;  ///< each behind those that it reads; empty: there is none
  ValueId result;
};

/// The activation function behind a value: elementwise operators which alone read it, such as
/// Sigmoid and Mul for SiLU, up to the last result that is all that others read of them. None
/// where another operator reads the value too, where it is an output, and where none of them is
/// more than arithmetic with numbers. Relu and Clip are activation functions as well.
ElementwiseFunction activation_function(const Graph&, ValueId);

}  // namespace tare
