#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tare {

/// Throws Error(kInvalidConfig) with all plug-ins that a configuration file lists: they are
/// programs, files may come from anywhere, and who trusts one does not call this. `overrides`
/// as for read_plugins(); plug-ins listed there are in the place of those of the file.
void refuse_plugins_of_file(const std::filesystem::path&,
                            const std::vector<std::string>& overrides);

}  // namespace tare
