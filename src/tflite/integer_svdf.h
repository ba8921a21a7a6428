#pragma once

#include "tflite/operator_import.h"

namespace tare::tflite {

/// Whether the kernels of TensorFlow Lite compute this SVDF on integers, and the graph is made
/// for their numerics.
bool is_integer_svdf(const OperatorImport&);

/// SVDF on integers as the kernels compute it: from a state of zeros, shapes checked. Their
/// factors are quotients in float32, unlike those of other products, and an activation is left
/// to the range of the result.
void integer_svdf(OperatorImport&, std::int64_t rank);

}  // namespace tare::tflite
