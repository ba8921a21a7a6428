// A line of /proc/self/cgroup is "number:controllers:/path"; controllers are empty in version
// 2, which has all of them in one tree, and version 1 has a tree for each. In a container the
// path may be that of the host, of which the container sees no more than its own group, as the
// root.
#include "base/control_group.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace tare {
namespace {

using Limit = std::optional<std::size_t>;

/// "max", which is no number, is no limit.
Limit limit_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::uint64_t bytes = 0;
  return stream >> bytes ? Limit(bytes) : std::nullopt;
}

Limit least(Limit a, Limit b) {
  return a && b ? std::min(a, b) : a ? a : b;
}

/// Of the group at that path and all above it.
Limit least_limit(const std::filesystem::path& root, const std::filesystem::path& group,
                  const char* file) {
  Limit result = limit_in(root / file);
  for (std::filesystem::path path = group.relative_path(); !path.empty();
       path = path.parent_path()) {
    result = least(result, limit_in(root / path / file));
  }
  return result;
}

bool has_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

std::optional<std::size_t> memory_of_control_group(std::string_view membership,
                                                   const std::filesystem::path& root) {
  Limit result;
  std::istringstream lines{std::string(membership)};
  std::string number;
  std::string controllers;
  std::string path;
  while (std::getline(lines, number, ':') && std::getline(lines, controllers, ':') &&
         std::getline(lines, path)) {
    if (controllers.empty()) {
      result = least(result, least_limit(root, path, "memory.max"));
    } else if (has_memory(controllers)) {
      result = least(result, least_limit(root / "memory", path, "memory.limit_in_bytes"));
    }
  }
  return result;
}

}  // namespace tare
