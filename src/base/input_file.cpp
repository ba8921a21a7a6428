#include "base/input_file.h"

#include "tare/error.h"

#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tare {
namespace {

namespace fs = std::filesystem;

// Opening a pipe does not wait for its other end.
constexpr int kOpen = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Error(ErrorCode::kIo, path.string(),
              "cannot be read: " + std::generic_category().message(error));
}

[[noreturn]] void outside(const fs::path& relative) {
  throw Error(ErrorCode::kInvalidModel, "", "external data is at '" + relative.string() + "'")
      .expected("a path inside the folder of the model");
}

/// Below `root`, by names that are no links; both are canonical.
int open_below(const fs::path& root, const fs::path& target) {
  constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
  int folder = ::open(root.c_str(), kFolder);
  const fs::path names = target.lexically_relative(root);
  for (auto name = names.begin(); folder >= 0 && name != names.end(); ++name) {
    const bool is_last = std::next(name) == names.end();
    const int next = ::openat(folder, name->c_str(), (is_last ? kOpen : kFolder) | O_NOFOLLOW);
    const int error = errno;
    ::close(folder);
    folder = next;
    errno = error;
  }
  return folder;
}

}  // namespace

InputFile::InputFile(int file, fs::path path) : file_(file), path_(std::move(path)) {
  if (file_ < 0) {
    fail(path_, errno);
  }
  struct stat status {};
  const bool known = ::fstat(file_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(std::exchange(file_, -1));
    throw Error(ErrorCode::kIo, path_.string(), "is a device or a pipe").expected("a file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::InputFile(const fs::path& path)
    : InputFile((require_readable(path), ::open(path.c_str(), kOpen)), path) {}

InputFile InputFile::inside(const fs::path& folder, const fs::path& relative) {
  const fs::path path = folder / relative;
  if (relative.empty() || relative.is_absolute() ||
      std::find(relative.begin(), relative.end(), "..") != relative.end()) {
    outside(relative);
  }
  require_readable(path);
  std::error_code status;
  const fs::path root = fs::canonical(folder.empty() ? "." : folder, status);
  const fs::path target = status ? fs::path() : fs::canonical(path, status);
  if (status) {
    fail(path, status.value());
  }
  if (std::mismatch(root.begin(), root.end(), target.begin(), target.end()).first !=
      root.end()) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "external data '" + relative.string() + "' is a link out of the folder of the model")
        .expected("a file in that folder")
        .hint("put a copy of it in the place of the link");
  }
  return {open_below(root, target), path};
}

InputFile::~InputFile() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

InputFile::InputFile(InputFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_) {}

void InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ::ssize_t count =
        ::pread(file_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      fail(path_, count < 0 ? errno : EIO);
    }
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::shared_ptr<std::byte[]> InputFile::map(std::uint64_t offset, std::size_t bytes) const {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = offset % page;
  const std::size_t mapped = before + bytes;
  void* const begin =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_,
             static_cast<::off_t>(offset - before));
  if (begin == MAP_FAILED) {
    return nullptr;
  }
  return {static_cast<std::byte*>(begin) + before,
          [begin, mapped](std::byte*) { ::munmap(begin, mapped); }};
}

std::string InputFile::contents() const {
  std::string text(static_cast<std::size_t>(size_), '\0');
  read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace tare
