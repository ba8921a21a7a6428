#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace tare {

/// A file in the making: written under a name of its own in the folder of its final one, which
/// commit() gives it. Without that nothing is left behind, also not by a signal whose handler
/// calls remove_unfinished_files().
///
/// Writing never throws, so that libraries may write through it which do not survive a failure:
/// the first error is kept, what comes after it is dropped, and require_written() or commit()
/// report it.
class OutputFile {
 public:
  /// `path` as output_target() understands it. Throws Error(kIo).
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool failed() const { return error_ != 0; }
  std::size_t size() const { return size_; }

  void write(std::size_t offset, std::span<const std::byte>) noexcept;
  void append(std::span<const std::byte> bytes) noexcept { write(size_, bytes); }
  void append(std::string_view text) noexcept { append(std::as_bytes(std::span(text))); }
  /// Behind the end there are zeros. False when the file cannot be read.
  bool read(std::size_t offset, std::span<std::byte>) const noexcept;
  void resize(std::size_t) noexcept;

  /// Throws Error(kIo) with the reason when something could not be written.
  void require_written() const;
  /// The same, and when the file cannot get its name.
  void commit();

  /// What remove_unfinished_files() does.
  static void remove_all() noexcept;

 private:
  class Registration;

  void create_beside_target();
  void discard() noexcept;
  void fail(int error) noexcept;

  std::filesystem::path path_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  Registration* registration_ = nullptr;
  int file_ = -1;
  int error_ = 0;  ///< errno of the first failure
  std::size_t size_ = 0;
};

}  // namespace tare
