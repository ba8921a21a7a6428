#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tare {

/// An operator that the onnx library does not know, whose results have the types that another
/// one's would have.
struct YoungerOperator {
  std::string_view op;
  int first_opset = 0;
  std::string like;
  std::size_t operands = 0;         ///< those that the other one has, too
  std::string_view attribute = {};  ///< that it does not have
};

/// Null for all others.
const YoungerOperator* find_younger_operator(std::string_view op);

}  // namespace tare
