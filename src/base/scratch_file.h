#pragma once

#include <cstddef>
#include <span>

namespace tare {

/// A file without a name in the folder for temporary files (TMPDIR, else /tmp): gone when the
/// process ends, however it ends. Reads and writes may come from any thread. Throws Error(kIo).
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write(std::size_t offset, std::span<const std::byte>);
  /// What was written there.
  void read(std::size_t offset, std::span<std::byte>) const;
  /// Makes it that large and maps it; null where there is no room for it. Unmapped with
  /// munmap(), before or after the file is gone.
  std::byte* map(std::size_t bytes);

 private:
  int file_ = -1;
};

}  // namespace tare
