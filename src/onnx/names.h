#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tare {

/// `wanted`, or "wanted_1", "wanted_2", ... whichever is not taken yet; takes it.
inline std::string take_name(std::set<std::string>& taken, std::string_view wanted) {
  std::string name(wanted);
  for (int suffix = 1; !taken.insert(name).second; ++suffix) {
    name = std::string(wanted) + "_" + std::to_string(suffix);
  }
  return name;
}

}  // namespace tare
