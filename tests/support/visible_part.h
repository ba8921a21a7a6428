#pragma once

#include "tare/graph.h"

#include <string>

namespace tare::test {

/// The name of the other operand where nothing but an Add reads the value, nothing but a Relu
/// the sum, and all have one shape; else empty.
std::string other_operand(const Graph&, const std::string& value);

/// max(value, -max(other, 0)), element by element.
Tensor visible_part(const Tensor& value, const Tensor& other);

}  // namespace tare::test
