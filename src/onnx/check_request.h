#pragma once

#include "onnx/infer.h"

namespace tare {

/// What the inference functions of the onnx library take for granted: they divide by
/// attributes, use them as indices and multiply them, unchecked. Throws Error(kInvalidModel)
/// with an empty `where`.
void check_request(const InferenceRequest&);

/// The parameters of a DequantizeLinear in blocks, which is younger than the library. Throws
/// Error(kInvalidModel) unless they lie as the values do, with blocks in place of `axis`.
void check_blocks(const InferenceRequest&);

}  // namespace tare
