#include "outputs.h"

#include "tare/error.h"

#include <system_error>

#include <unistd.h>

namespace tare::cli {

namespace fs = std::filesystem;

void require_writable(const fs::path& output, const std::vector<fs::path>& inputs) {
  const auto refuse = [&](const std::string& what) -> Error {
    return {ErrorCode::kIo, output.string(), what};
  };
  std::error_code error;
  const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    throw refuse("no such folder '" + folder.string() + "'");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw refuse("folder '" + folder.string() + "' cannot be written");
  }
  const fs::file_status status = fs::status(output, error);
  if (fs::is_directory(status)) {
    throw refuse("is a folder").expected("a file");
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw refuse("is a device or a pipe").expected("a file");
  }
  for (const fs::path& input : inputs) {
    if (fs::exists(status) && fs::equivalent(output, input, error)) {
      throw refuse("is the same file as the input '" + input.string() + "'")
          .expected("another file");
    }
  }
}

}  // namespace tare::cli
