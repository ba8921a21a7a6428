#pragma once

#include "fuzz/target.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <stdlib.h>

namespace tare::fuzz {

/// A folder of this process, for readers that take names of files.
class Scratch {
 public:
  static std::filesystem::path path(const char* name) {
    static const Scratch scratch;
    return scratch.folder_ / name;
  }

  static std::filesystem::path write(const char* name, Bytes bytes) {
    const std::filesystem::path file = path(name);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file;
  }

  static File read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return file_of(std::string(std::istreambuf_iterator<char>(file), {}));
  }

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "tare-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "no folder for files");
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_;
};

}  // namespace tare::fuzz
