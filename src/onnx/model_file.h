#pragma once

#include "onnx/export/export_node.h"

#include <cstddef>
#include <filesystem>

namespace tare {

/// Protobuf ends at 2^31 bytes; the rest is for everything that is not a constant.
constexpr std::size_t kMostConstantBytes = 2'000'000'000;

/// Writes the model under a temporary name in the same folder and renames it. When the
/// constants have more than `most_constant_bytes` in all, those of 1 KiB and more go to
/// "<name>.data" beside it. Throws Error(kIo); nothing is left then.
void save_model(ExportedModel, const std::filesystem::path&,
                std::size_t most_constant_bytes = kMostConstantBytes);

/// Writes the message under a temporary name in the same folder and renames it. Throws
/// Error(kIo).
void save_message(const onnx::ModelProto&, const std::filesystem::path&);

/// The bytes of what save_model() would write; of an empty path, under some name.
std::size_t saved_bytes(ExportedModel, const std::filesystem::path&,
                        std::size_t most_constant_bytes = kMostConstantBytes);

}  // namespace tare
