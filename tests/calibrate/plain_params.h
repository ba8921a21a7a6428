#pragma once

#include "tare/arithmetic.h"

namespace tare::test {

/// One scale and zero point for a range, by the formulas of docs/quantization_math.md; for
/// ranges that are neither empty nor too narrow.
struct PlainParams {
  double scale = 0;
  double zero_point = 0;
};
PlainParams plain_params(Range, const QuantSpec&);

/// The storage value of a real one.
double plain_storage_value(float real, float scale, double zero_point, double low, double high);

}  // namespace tare::test
