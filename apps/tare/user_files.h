#pragma once

#include "tare/dataset.h"
#include "tare/statistics.h"

#include <filesystem>
#include <memory>

namespace tare::cli {

// Users name files from anywhere, and the HDF5 library does not survive all of them: the
// program opens such files here only.

inline constexpr Hdf5Options kUserFile{.trial_in_child = true};

inline std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path) {
  return open_dataset(path, kUserFile);
}

inline Statistics open_statistics(const std::filesystem::path& path) {
  return read_statistics(path, kUserFile);
}

}  // namespace tare::cli
