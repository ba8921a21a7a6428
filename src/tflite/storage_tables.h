#pragma once

#include "tflite/operator_import.h"

#include <cstdint>
#include <vector>

namespace tare::tflite {

/// Functions of 8-bit integers that kernels of TensorFlow Lite compute in fixed point, and that
/// no operator of ONNX rounds alike. All of their values are computed beforehand, so the graph
/// gives the same integers wherever it runs.

/// Whether the graph is made for numerics of TensorFlow Lite, and these operands are 8-bit
/// integers with parameters of the whole tensor.
bool computes_by_tables(const OperatorImport&, const std::vector<std::size_t>& operands);

struct Rescaled {
  ValueId value;          ///< in int32, in the file's order
  std::int64_t most = 0;  ///< no element is further from 0
};

/// Operand i less its zero point, times 2^bits, times the factor, rounded as the kernels do.
Rescaled rescaled_by_table(OperatorImport&, std::size_t i, int bits, double factor);

/// Elements of the table at these indices; negative ones count from its end.
ValueId looked_up(OperatorImport&, const Tensor& table, ValueId indices);

}  // namespace tare::tflite
