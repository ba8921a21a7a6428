#pragma once

#include "tflite/operator_import.h"

namespace tare::tflite {

/// The bias of sums of products of x and w, in operand i; null where it is absent. Where its
/// steps are too small for a scale, or it has 64 bits, it is real.
ValueId bias(OperatorImport&, std::size_t i, const FileTensor& x, const FileTensor& w);
/// Throws where there is a bias that is no row of as many elements.
void require_bias_of(OperatorImport&, ValueId bias, std::int64_t channels);
/// x, w and the bias, unless that is null. Throws where their types differ.
std::vector<ValueId> operands_of_sums(const OperatorImport&, ValueId x, ValueId w,
                                      ValueId bias);

}  // namespace tare::tflite
