#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// What the name of a file says that it is.
enum class FileKind : std::uint8_t {
  kHdf5,
  kNpy,
  kNpz,
  kPicture,
  kRecording,
  kRaw,
  kList,
  kUnknown,
};

FileKind kind_of(const std::filesystem::path&);
/// "pictures"
std::string kind_name(FileKind);

/// Files of samples, all of one kind, in the order of their samples.
struct SampleFiles {
  FileKind kind = FileKind::kUnknown;
  std::vector<std::filesystem::path> paths;
  /// Of each file, where a list has labels, or a folder classes.
  std::optional<std::vector<std::int64_t>> labels;
};

/// Those in a folder, or in the folders of its classes, which may be links. Names that begin
/// with a dot, and files of other kinds such as texts, are passed over. Throws Error(kIo), and
/// Error(kInvalidData) where there are none, or of several kinds.
SampleFiles files_of_folder(const std::filesystem::path&);

/// Those that a text file lists, one in a line, behind which may be an integer: its label.
/// Paths are relative to the list; empty lines and those that begin with # are passed over.
/// Throws as files_of_folder(), and Error(kInvalidData) with all lines that are wrong.
SampleFiles files_of_list(const std::filesystem::path&);

}  // namespace tare
