#pragma once

#include <filesystem>
#include <string_view>

namespace tare {

/// Throws Error(kIo) unless `path` is a regular file that may be read, so that every reader
/// says the same of a missing file, a folder and a forbidden one, and none waits for a pipe.
/// `wanted` is what was expected there.
void require_readable(const std::filesystem::path& path, std::string_view wanted = "a file");

}  // namespace tare
