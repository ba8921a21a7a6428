#pragma once

#include <filesystem>

namespace tare {

/// The file that writing to `path` makes or replaces: `path` itself, or where it leads as a
/// link. Throws Error(kIo) unless a file can be made there: for a folder, a device, a pipe, a
/// link to a file that a process has open (/dev/stdout), a folder that is missing or forbidden,
/// and names that the file system does not take.
std::filesystem::path output_target(const std::filesystem::path& path);

/// Deletes the files that this process is writing and that do not have their final names yet.
/// For signal handlers: the process has to end after it.
void remove_unfinished_files() noexcept;

}  // namespace tare
