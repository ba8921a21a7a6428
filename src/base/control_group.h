#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace tare {

/// The least limit of memory, in bytes, that a process's control group or one above it has.
/// `membership` is what /proc/self/cgroup says of
/// the process (cgroups(7)), `root` the folder that control groups are mounted in.
std::optional<std::size_t> memory_of_control_group(std::string_view membership,
                                                   const std::filesystem::path& root);

}  // namespace tare
