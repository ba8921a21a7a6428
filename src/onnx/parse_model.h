#pragma once

#include "base/input_file.h"

#include <onnx/onnx_pb.h>

namespace tare {

/// The message that a file holds. Throws Error(kInvalidModel) with an empty `where` unless it
/// is a model with a graph.
onnx::ModelProto parse_model(const InputFile&);
/// The same but for the elements of initializers, which are not read.
onnx::ModelProto parse_without_weights(const InputFile&);

}  // namespace tare
