#pragma once

#include "tare/pattern.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// Numbers that are one for all elements of a value, or one for each index of an axis.
struct SpelledRow {
  std::vector<float> values;
  std::optional<std::int64_t> axis;
};

/// A float constant as it broadcasts to a value of that rank; nothing when it is no row.
std::optional<SpelledRow> row_of(const Graph&, ValueId constant, std::size_t rank);

/// Scales and as many zero points of a storage type.
struct SpelledParameters {
  SpelledRow scales;
  Tensor zero_points;
};

/// Nothing when the zero points are no integers of that type, or lie along another axis.
std::optional<SpelledParameters> parameters_of(const SpelledRow& scales,
                                               const SpelledRow& zero_points, DType storage);
/// Of the constants that the match captured, for a value of that rank.
std::optional<SpelledParameters> parameters_of(const Graph&, const Match&,
                                               std::string_view scale, std::string_view zero,
                                               std::size_t rank, DType storage);

/// QuantizeLinear or DequantizeLinear of x with these parameters.
ValueId add_linear(Patch&, const char* op, ValueId x, const SpelledParameters&, DType result,
                   const std::string& name);

}  // namespace tare
