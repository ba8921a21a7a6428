#include "engine/cache_files.h"

#include <cstdlib>
#include <system_error>

namespace tare {
namespace {

/// Greater than it was where files are spelled otherwise than those that were timed before.
constexpr int kSpelling = 2;

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

std::filesystem::path usual_folder() {
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) {
    return std::filesystem::path(folder) / "tare";
  }
  const std::string home = variable("HOME");
  return home.empty() ? std::filesystem::path()
                      : std::filesystem::path(home) / ".cache" / "tare";
}

}  // namespace

std::filesystem::path cache_folder(std::filesystem::path folder) {
  if (folder.empty()) {
    folder = usual_folder();
  }
  if (!folder.empty()) {
    std::error_code unable;
    std::filesystem::create_directories(folder, unable);
  }
  return folder;
}

std::string identity(const EngineFacts& engine) {
  return std::to_string(kSpelling) + "\n" + engine.name + "\n" + engine.version + "\n" +
         engine.processor + "\n" + std::to_string(engine.threads);
}

}  // namespace tare
