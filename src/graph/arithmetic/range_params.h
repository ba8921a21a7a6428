#pragma once

#include "tare/arithmetic.h"

#include <cstdint>

namespace tare {

/// What to_quant_params() makes of one range.
struct RangeParams {
  float scale = 1;
  std::int32_t zero_point = 0;
};
/// `widest` is the largest distance of an end from 0 among the ranges of its tensor, `storage`
/// the storage range of the specification.
RangeParams range_params(Range, double widest, const QuantSpec&, const StorageRange& storage);

}  // namespace tare
