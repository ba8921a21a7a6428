#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace tare {

/// A regular file that is open for reading. What was opened is what was looked at: a pipe or a
/// device that takes the file's place in between is refused too, and nobody waits for it.
class InputFile {
 public:
  /// Throws Error(kIo) as require_readable() does.
  explicit InputFile(const std::filesystem::path&);
  /// The file at `relative` in `folder`, which no "..", absolute path or link leads out of.
  /// Throws Error(kIo), and Error(kInvalidModel) with an empty `where` for one that is
  /// elsewhere.
  static InputFile inside(const std::filesystem::path& folder,
                          const std::filesystem::path& relative);
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  int descriptor() const { return file_; }  ///< at the beginning of the file
  std::uint64_t size() const { return size_; }
  /// Fills `bytes` from `offset` on. Throws Error(kIo) where the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::string contents() const;
  /// The bytes from `offset` on, at an address that is as far from a page as they are in the
  /// file: pages are read when they are needed, and given back where memory is scarce. What is
  /// written there is not written to the file. Null where the system does not map the file.
  /// Whoever cuts it off later ends the process.
  std::shared_ptr<std::byte[]> map(std::uint64_t offset, std::size_t bytes) const;

 private:
  InputFile(int file, std::filesystem::path);

  int file_;
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
};

}  // namespace tare
