#pragma once

#include "tare/node.h"

#include <cstdint>
#include <vector>

namespace tare {

/// Extent i of the result is extent order[i] of the shape: ONNX Transpose. `order` is a
/// permutation.
Shape permuted(const Shape&, const std::vector<std::int64_t>& order);
/// The elements follow.
Tensor permuted(const Tensor&, const std::vector<std::int64_t>& order);
/// The axis of parameters follows too.
TensorType permuted(TensorType, const std::vector<std::int64_t>& order);

/// Orders of images: N C H W from N H W C, and back.
const std::vector<std::int64_t>& to_channels_first();
const std::vector<std::int64_t>& to_channels_last();

/// Whether each of 0 .. rank - 1 is in it once.
bool is_permutation(const std::vector<std::int64_t>& order, std::size_t rank);

}  // namespace tare
