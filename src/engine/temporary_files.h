#pragma once

#include <filesystem>
#include <string>

namespace tare {

/// A folder of its own for files that an engine reads, in TMPDIR or /tmp; removed in the end.
class TemporaryFiles {
 public:
  /// Throws Error(kIo).
  TemporaryFiles();
  ~TemporaryFiles();
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  /// A name that no other file there has.
  std::filesystem::path next(const std::string& suffix);

 private:
  std::filesystem::path folder_;
  std::size_t count_ = 0;
};

}  // namespace tare
