#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/statistics.h"

#include "flags.h"
#include "printing/console.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tare::cli {

// Users name files from anywhere, and the HDF5 library does not survive all of them: the
// program opens such files here only.

inline constexpr Hdf5Options kUserFile{.trial_in_child = true};

/// The samples at `path` for that model, prepared as the configuration says. What is guessed is
/// said.
std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const std::string& model, const Config&, const Console&);
/// The same; guesses are added to `notes`, and said if there is a console.
std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const std::string& model, const Config&, const Console*,
                                      std::vector<std::string>& notes);

inline Statistics open_statistics(const std::filesystem::path& path) {
  return read_statistics(path, kUserFile);
}

}  // namespace tare::cli
