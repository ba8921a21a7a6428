#include "base/files.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tare {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what, int error) {
  throw Error(ErrorCode::kIo, path.string(),
              what + ": " + std::generic_category().message(error));
}

/// A new empty file of its own for every process and every call. O_EXCL: never one that exists.
std::filesystem::path create_beside(const std::filesystem::path& path) {
  for (int attempt = 0;; ++attempt) {
    std::filesystem::path name = path;
    name += '.';
    name += std::to_string(::getpid());
    name += '-';
    name += std::to_string(attempt);
    name += ".part";
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::close(file);
      return name;
    }
    if (errno != EEXIST) {
      fail(path, "cannot be written", errno);
    }
  }
}

}  // namespace

void require_readable(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorCode::kIo, path.string(), "no such file");
  }
  if (std::filesystem::is_directory(status)) {
    throw Error(ErrorCode::kIo, path.string(), "is a folder").expected("a file");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::kIo, path.string(), "is a device or a pipe").expected("a file");
  }
  if (::access(path.c_str(), R_OK) != 0) {
    fail(path, "cannot be read", errno);
  }
}

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)), temporary_(create_beside(path_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void OutputFile::commit() {
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) {
    fail(path_, "cannot be written", error.value());
  }
  temporary_.clear();
}

}  // namespace tare
