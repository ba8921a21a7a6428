#pragma once

#include <limits>
#include <string_view>

namespace tare {

/// The first opset in which ONNX has an operator of the IR that files of older ones spell with
/// several; 0 for all other operators.
constexpr int first_opset_of(std::string_view op) {
  return op == "Gelu" ? 20 : op == "Rsqrt" ? std::numeric_limits<int>::max() : 0;
}

}  // namespace tare
