#pragma once

#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/model_files.h"
#include "tare/node.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tare {

struct Interface {
  std::vector<std::pair<std::string, TensorType>> inputs;
  std::map<std::string, std::vector<std::string>> dimension_names;
};

/// The name of a dynamic dimension that has none in the file.
std::string dimension_symbol(const std::string& value, std::size_t axis);

/// What the inputs that are not initializers are, as they are declared. Throws
/// Error(kUnsupported) with all that are no tensors of numbers.
std::vector<ModelInput> declared_model_inputs(const onnx::GraphProto&);

/// Fixes the types of all inputs that are not initializers, binding symbolic dimensions as
/// ReadOptions say, and notes the names of symbolic dimensions of inputs and outputs. A dynamic
/// dimension without a name ("?", "None", -1) is named after its value and axis. Faults are
/// added to `faults`.
Interface read_interface(const onnx::GraphProto&, const std::set<std::string>& initializers,
                         const ReadOptions&, Faults& faults);

}  // namespace tare
