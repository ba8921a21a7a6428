#pragma once

#include <filesystem>
#include <string>

namespace tare::test {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

/// Runs a shell command in `folder` with the program under test on the PATH; what it prints
/// goes to files outside of the folder.
Outcome run_in(const std::filesystem::path& folder, const std::string& command);

}  // namespace tare::test
