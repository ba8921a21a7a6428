#pragma once

#include "tflite/operator_import.h"

#include <vector>

namespace tare::tflite {

/// Operands that are looked at one element of each at a time.
struct Broadcast {
  Order order = Order::kFile;
  std::vector<ValueId> values;
  Shape shape;  ///< of the result, in that order
};

/// The first `count` operands. Throws where their shapes do not fit.
Broadcast broadcast(OperatorImport&, std::size_t count);
/// What broadcasts from these shapes. Throws where they do not fit.
Shape common_shape(const OperatorImport&, const Shape&, const Shape&);

}  // namespace tare::tflite
