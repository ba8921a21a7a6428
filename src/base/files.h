#pragma once

#include "tare/error.h"

#include <filesystem>

namespace tare {

/// Throws Error(kIo) unless `path` is a regular file that may be read, so that every reader
/// says the same of a missing file, a folder and a forbidden one, and none waits for a pipe.
void require_readable(const std::filesystem::path& path);

/// A file in the making: written under a temporary name beside its own, which it takes over
/// with commit(). Without commit() nothing is left behind.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Where to write; an empty file that exists already.
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Throws Error(kIo) when the file cannot get its name. Close it first.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

}  // namespace tare
