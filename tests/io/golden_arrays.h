#pragma once

#include "tare/tensor.h"

#include "base/input_file.h"
#include "io/samples/npy.h"

#include <filesystem>

namespace tare::test {

inline std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(TARE_SOURCE_DIR) / "tests/io/golden" / name;
}

/// A whole array in NumPy's format.
inline Tensor golden_array(const std::string& name) {
  const InputFile file(golden(name));
  const ArrayBytes bytes{
      .size = file.size(),
      .read = [&](std::uint64_t offset, std::span<std::byte> to) { file.read(offset, to); }};
  const NpyHeader header = read_npy_header(bytes);
  return read_elements(bytes, header, 0, header.shape);
}

}  // namespace tare::test
