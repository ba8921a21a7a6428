#pragma once

#include "tare/tensor.h"

#include "onnx/infer.h"

#include <cstddef>
#include <optional>

namespace tare {

/// Shape of a result where the onnx library leaves it open although the operands that decide it
/// are known: OneHot, Einsum with an ellipsis, MaxUnpool with an output shape, NonZero,
/// Compress, Unique, NonMaxSuppression. Throws Error(kInvalidModel) where these make none.
std::optional<Shape> shape_by_values(const InferenceRequest&, std::size_t result);

}  // namespace tare
