#include "base/scratch_file.h"

#include "tare/error.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tare {
namespace {

std::filesystem::path temporary_folder() {
  const char* named = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

[[noreturn]] void refuse(const std::string& what, int error) {
  throw Error(ErrorCode::kIo, "temporary file in " + temporary_folder().string(),
              what + ": " + std::generic_category().message(error))
      .hint("name another folder in the environment variable TMPDIR");
}

}  // namespace

ScratchFile::ScratchFile() {
  std::string name = (temporary_folder() / "tare-XXXXXX").string();
  file_ = ::mkstemp(name.data());
  if (file_ < 0) {
    refuse("cannot be made", errno);
  }
  ::unlink(name.c_str());
}

ScratchFile::~ScratchFile() {
  ::close(file_);
}

void ScratchFile::write(std::size_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t count =
        ::pwrite(file_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      refuse("cannot be written", errno);
    }
    offset += static_cast<std::size_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void ScratchFile::read(std::size_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ::ssize_t count =
        ::pread(file_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      refuse("cannot be read", count < 0 ? errno : EIO);
    }
    offset += static_cast<std::size_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::byte* ScratchFile::map(std::size_t bytes) {
  // Without room of its own, a page that cannot be written later would end the process.
  if (::posix_fallocate(file_, 0, static_cast<::off_t>(bytes)) != 0) {
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace tare
