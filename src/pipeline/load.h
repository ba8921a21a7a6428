#pragma once

#include <filesystem>

namespace tare {

/// Whether the name is that of a TensorFlow Lite model.
bool is_tflite(const std::filesystem::path&);
/// Whether the name is that of a graph in the textual form.
bool is_text(const std::filesystem::path&);

}  // namespace tare
