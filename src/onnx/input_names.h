#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tare {

/// What an ONNX model takes, in its order; initializers are none. Shapes need not be known.
/// Throws as read_onnx() for what is no ONNX model.
std::vector<std::string> input_names(const std::filesystem::path&);

}  // namespace tare
