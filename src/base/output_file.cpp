// Writes a file under another name in the folder where it is to be, and gives it its name when
// it is complete. Renaming is atomic within a file system, so a reader sees the old file or the
// new one and never a part of either, and a process that is killed leaves what was there.
#include "base/output_file.h"

#include "tare/error.h"
#include "tare/process.h"

#include "base/hash.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace tare {

namespace fs = std::filesystem;

namespace {

Error refusal(const fs::path& path, const std::string& what) {
  return {ErrorCode::kIo, path.string(), what};
}

Error unwritable(const fs::path& path, int error) {
  return refusal(path, "cannot be written: " + std::generic_category().message(error));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Links there stand for files that are open, whatever they seem to name.
bool is_of_processes(const fs::path& folder) {
  constexpr auto kProcFileSystem = 0x9FA0;
  struct statfs found {};
  return ::statfs(folder.c_str(), &found) == 0 && found.f_type == kProcFileSystem;
}

/// Whether anything is at `path` itself, links not followed.
bool exists(const fs::path& path, const fs::path& as_given, struct stat& found) {
  if (::lstat(path.c_str(), &found) == 0) {
    return true;
  }
  if (errno != ENOENT) {
    throw unwritable(as_given, errno);
  }
  return false;
}

void require_folder(const fs::path& folder, const fs::path& output) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw refusal(output, "no such folder '" + folder.string() + "'");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw refusal(output, "folder '" + folder.string() +
                              "' cannot be written: " + std::generic_category().message(errno));
  }
}

/// Nobody can guess it, so nobody can have put a file there.
std::string random_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    throw Error(ErrorCode::kIo, "random numbers",
                "cannot be had: " + std::generic_category().message(errno));
  }
  return ".tare-" + hexadecimal(number) + ".part";
}

}  // namespace

std::filesystem::path output_target(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  fs::path target = path;
  struct stat found {};
  for (int links = 0;; ++links) {
    if (is_of_processes(folder_of(target))) {
      throw refusal(path, "leads to what a process has open").expected("a file");
    }
    require_folder(folder_of(target), path);
    if (!exists(target, path, found)) {
      return target;
    }
    if (!S_ISLNK(found.st_mode)) {
      break;
    }
    if (links == kMostLinks) {
      throw unwritable(path, ELOOP);
    }
    std::error_code error;
    const fs::path next = fs::read_symlink(target, error);
    if (error) {
      throw unwritable(path, error.value());
    }
    target = folder_of(target) / next;  // `next` alone where it is absolute
  }
  if (S_ISDIR(found.st_mode)) {
    throw refusal(path, "is a folder").expected("a file");
  }
  if (!S_ISREG(found.st_mode)) {
    throw refusal(path, "is a device or a pipe").expected("a file");
  }
  return target;
}

/// Where a handler of signals finds the name of a file in the making. Places are used again and
/// never freed, as a handler may be looking at any.
class OutputFile::Registration {
 public:
  static Registration* add(const fs::path& path) {
    Registration* place = head().load();
    while (place != nullptr && place->is_taken_.exchange(true)) {
      place = place->next_;
    }
    if (place == nullptr) {
      place = new Registration;
      place->is_taken_ = true;
      place->next_ = head().load();
      while (!head().compare_exchange_weak(place->next_, place)) {
      }
    }
    std::strncpy(place->name_, path.c_str(), PATH_MAX - 1);  // longer ones cannot be opened
    place->is_named_ = true;
    return place;
  }
  void remove() {
    is_named_ = false;
    is_taken_ = false;
  }

  static void unlink_all() noexcept {
    for (const Registration* place = head().load(); place != nullptr; place = place->next_) {
      if (place->is_named_) {
        ::unlink(place->name_);
      }
    }
  }

 private:
  static std::atomic<Registration*>& head() {
    static constinit std::atomic<Registration*> first = nullptr;
    return first;
  }

  std::atomic<bool> is_taken_ = false;
  std::atomic<bool> is_named_ = false;
  char name_[PATH_MAX] = {};
  Registration* next_ = nullptr;
};

void remove_unfinished_files() noexcept {
  OutputFile::remove_all();
}

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)), target_(output_target(path_)) {
  create_beside_target();
}

OutputFile::~OutputFile() {
  discard();
}

void OutputFile::create_beside_target() {
  do {
    temporary_ = folder_of(target_) / random_name();
    registration_ = Registration::add(temporary_);
    file_ =
        ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0) {
      const int error = errno;
      std::exchange(registration_, nullptr)->remove();
      if (error != EEXIST) {
        throw unwritable(path_, error);
      }
    }
  } while (file_ < 0);
}

void OutputFile::discard() noexcept {
  if (file_ >= 0) {
    ::close(std::exchange(file_, -1));
  }
  if (registration_ != nullptr) {
    ::unlink(temporary_.c_str());
    std::exchange(registration_, nullptr)->remove();
  }
}

void OutputFile::fail(int error) noexcept {
  error_ = error_ == 0 ? error : error_;
}

void OutputFile::write(std::size_t offset, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty() && !failed()) {
    const ::ssize_t count =
        ::pwrite(file_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      fail(count < 0 ? errno : ENOSPC);
      return;
    }
    offset += static_cast<std::size_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    size_ = std::max(size_, offset);
  }
}

bool OutputFile::read(std::size_t offset, std::span<std::byte> bytes) const noexcept {
  while (!bytes.empty()) {
    const ::ssize_t count =
        ::pread(file_, bytes.data(), bytes.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return false;
    }
    if (count == 0) {
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
      return true;
    }
    offset += static_cast<std::size_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

void OutputFile::resize(std::size_t size) noexcept {
  if (failed()) {
    return;
  }
  if (::ftruncate(file_, static_cast<::off_t>(size)) != 0) {
    fail(errno);
    return;
  }
  size_ = size;
}

void OutputFile::require_written() const {
  if (failed()) {
    throw unwritable(path_, error_);
  }
}

void OutputFile::commit() {
  // Some file systems say only now that there is no room.
  if (::close(std::exchange(file_, -1)) != 0 && errno != EINTR) {
    fail(errno);
  }
  require_written();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw unwritable(path_, errno);
  }
  std::exchange(registration_, nullptr)->remove();
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.append(text);
  file.commit();
}

void OutputFile::remove_all() noexcept {
  Registration::unlink_all();
}

}  // namespace tare
