#pragma once

#include "tflite/operator_import.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tare::tflite {

// Fixed point as the kernels of TensorFlow Lite compute it, spelled with operators on int64:
// for kernels whose factors or steps no operator on storage values has. Numbers stay within
// int32, as they do there.

/// Whether the graph is made for numerics of TensorFlow Lite.
bool follows_tflite(const OperatorImport&);

/// The only scale of a tensor that has one; throws where it has none or several.
float only_scale(const OperatorImport&, const FileTensor&);
/// Its zero point.
std::int64_t only_zero_point(const OperatorImport&, const FileTensor&);

/// The integers of operand i less its zero point, in int64 and in the file's order.
ValueId centred(OperatorImport&, std::size_t i);

/// The integers of constant operand i as the kernels take those of weights, without a zero
/// point. Throws where the shape is another one.
Tensor raw_constant(const OperatorImport&, std::size_t i, const Shape&);

/// A matrix in int64, its columns for its rows.
Tensor columns_for_rows(const Tensor& matrix);

/// x times a factor, or each of the last axis times its own, rounded twice as
/// RequantizeRounding::kTfliteDouble says.
ValueId rescaled(OperatorImport&, ValueId x, std::span<const double> factors);
inline ValueId rescaled(OperatorImport& op, ValueId x, double factor) {
  return rescaled(op, x, std::span(&factor, 1));
}

/// x / 2^bits, halves away from 0.
ValueId shifted_down(OperatorImport&, ValueId x, int bits);

/// x with the ends of [low, high] for what lies outside.
ValueId bounded(OperatorImport&, ValueId x, std::int64_t low, std::int64_t high);

/// x and one number, under an operator of ONNX.
ValueId with_number(OperatorImport&, const char* onnx, ValueId x, std::int64_t number);

/// The only result holds these integers, which its type has room for.
void define_integers(OperatorImport&, ValueId x);

}  // namespace tare::tflite
