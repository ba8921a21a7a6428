#pragma once

#include "tare/node.h"

#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

namespace tare {

// DetectionPostProcess in files: a node of ours that is a function of the model, whose body is
// made of operators of ONNX, so that every engine runs it, and that is read back by its name.

/// What files call a node with these attributes.
std::string detection_name(const Attributes&);
/// Whether a node of our domain is one.
bool is_detection_name(std::string_view op_type);
/// The function of that name for operators of that opset (13 and newer).
onnx::FunctionProto detection_function(const std::string& name, int opset);

}  // namespace tare
