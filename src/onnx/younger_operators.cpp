#include "onnx/younger_operators.h"

#include <algorithm>
#include <array>

namespace tare {

const YoungerOperator* find_younger_operator(std::string_view op) {
  static const std::array kOperators{
      YoungerOperator{"BitwiseAnd", 18, "Add", 2},
      YoungerOperator{"BitwiseNot", 18, "Identity", 1},
      YoungerOperator{"BitwiseOr", 18, "Add", 2},
      YoungerOperator{"BitwiseXor", 18, "Add", 2},
      YoungerOperator{"DeformConv", 19, "Conv", 2, "offset_group"},
  };
  const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                   [&](const auto& each) { return each.op == op; });
  return found == kOperators.end() ? nullptr : found;
}

}  // namespace tare
