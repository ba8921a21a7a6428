#pragma once

#include "tare/node.h"

#include <filesystem>
#include <string>

#include <onnx/onnx_pb.h>

namespace tare {

/// Throws Error(kUnsupported) for what the toolkit has no form for: sub-graphs, sparse tensors.
Attribute to_attribute(const onnx::AttributeProto&, const std::filesystem::path& folder);
Attributes to_attributes(const onnx::NodeProto&, const std::filesystem::path& folder);

/// Operator, name and attributes; the operands are up to the caller.
onnx::NodeProto to_node_proto(const std::string& name, const std::string& op,
                              const Attributes&);

}  // namespace tare
