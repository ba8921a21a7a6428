#include "engine/temporary_files.h"

#include "tare/error.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace tare {

TemporaryFiles::TemporaryFiles() {
  std::error_code unknown;
  const std::filesystem::path place = std::filesystem::temp_directory_path(unknown);
  std::string name = (place / "tare-engine-XXXXXX").string();
  if (unknown || ::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::kIo, "temporary folder in '" + place.string() + "'",
                "cannot be made: " +
                    (unknown ? unknown.message() : std::generic_category().message(errno)))
        .hint("name another folder in the environment variable TMPDIR");
  }
  folder_ = name;
}

TemporaryFiles::~TemporaryFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::filesystem::path TemporaryFiles::next(const std::string& suffix) {
  return folder_ / (std::to_string(count_++) + suffix);
}

}  // namespace tare
