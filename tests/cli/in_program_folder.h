#pragma once

#include "cli/inputs.h"
#include "cli/program.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {

/// A test with a folder of its own that holds the files of make_inputs().
class InProgramFolder : public InFolder {
 protected:
  InProgramFolder() { make_inputs(folder_); }

  Outcome run(const std::string& command) const { return run_in(folder_, command); }
  Outcome succeed(const std::string& command) const {
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.err;
    return outcome;
  }
  std::string bytes(const std::string& name) const { return bytes_of(folder_ / name); }

  /// What every file holds, and where links lead, by path.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> result;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      result[entry.path().string()] =
          entry.is_symlink()     ? "-> " + std::filesystem::read_symlink(entry.path()).string()
          : entry.is_directory() ? ""
                                 : bytes_of(entry.path());
    }
    return result;
  }
};

}  // namespace tare::test
