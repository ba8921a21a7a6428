#pragma once

#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tare {

/// Which slices along an axis, or which elements, a tensor has at least once.
struct UniqueSlices {
  std::vector<std::int64_t> first;    ///< of each, where it is first
  std::vector<std::int64_t> count;    ///< of each, how often it is there
  std::vector<std::int64_t> inverse;  ///< of each slice of the tensor, which one it is
};

/// In the order of their elements where `sorted`, else in that in which they are met; NaNs are
/// equal and behind all numbers. `data` are the elements of a tensor of that type and shape;
/// without an axis (in [0, rank)) its elements themselves are compared.
UniqueSlices unique_slices(const std::byte* data, DType, const Shape&,
                           std::optional<std::size_t> axis, bool sorted);

}  // namespace tare
