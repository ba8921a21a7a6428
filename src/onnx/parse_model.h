#pragma once

#include "base/input_file.h"

#include <string>

#include <onnx/onnx_pb.h>

namespace tare {

/// The message that a file holds. Throws Error(kInvalidModel) with an empty `where` unless it
/// is a model with a graph.
onnx::ModelProto parse_model(const InputFile&);
/// The same, but the elements of initializers are not read: these refer to external data, which
/// is at the place of their elements in a file called `name`, the same.
onnx::ModelProto parse_referring(const InputFile&, const std::string& name);
/// The same but for the elements of initializers, which are not read.
onnx::ModelProto parse_without_weights(const InputFile&);

}  // namespace tare
