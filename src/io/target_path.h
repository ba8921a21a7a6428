#pragma once

#include <filesystem>
#include <string>

namespace tare {

/// What `file` means by that target: files name others relative to themselves.
std::string target_beside(const std::filesystem::path& file, const std::string& target);

}  // namespace tare
