#pragma once

#include "onnx/infer.h"

namespace tare {

/// Throws Error(kInvalidModel) where the window of a convolution or pool leads so far that
/// shape inference, which does not look, would overflow.
void check_window(const InferenceRequest&);

}  // namespace tare
