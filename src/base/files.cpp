#include "base/files.h"

#include "tare/error.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <unistd.h>

namespace tare {

void require_readable(const std::filesystem::path& path, std::string_view wanted) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorCode::kIo, path.string(), "no such file");
  }
  if (std::filesystem::is_directory(status)) {
    throw Error(ErrorCode::kIo, path.string(), "is a folder").expected(wanted);
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::kIo, path.string(), "is a device or a pipe").expected(wanted);
  }
  if (::access(path.c_str(), R_OK) != 0) {
    throw Error(ErrorCode::kIo, path.string(),
                "cannot be read: " + std::generic_category().message(errno));
  }
}

}  // namespace tare
