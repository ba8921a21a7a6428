#pragma once

#include <filesystem>
#include <vector>

namespace tare::cli {

/// Throws Error unless a file can be written there and is none of `inputs`, whatever links lead
/// to it; called before long work starts. Empty inputs are ignored.
void require_writable(const std::filesystem::path& output,
                      const std::vector<std::filesystem::path>& inputs);

}  // namespace tare::cli
