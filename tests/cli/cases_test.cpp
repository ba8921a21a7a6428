// Every folder in tests/cli/cases is a test; see the README beside it.
#include "cli/inputs.h"
#include "cli/program.h"
#include "cli/text_match.h"
#include "support/files/files.h"
#include "support/files/temporary_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = fs::path(TARE_SOURCE_DIR) / "tests/cli/cases";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// For scripts/write_generated.sh: text that leaves nothing open is written as it is now.
void write_again(const fs::path& file, const std::string& now) {
  const std::string before = bytes_of(file);
  if (std::getenv("TARE_WRITE_GENERATED") != nullptr && !text_matches(before, now) &&
      before.find('{') == std::string::npos) {
    std::ofstream(file, std::ios::binary) << now;
  }
}

class Case : public testing::TestWithParam<std::string> {};

TEST_P(Case, PrintsAndExitsAsItsFilesSay) {
  const fs::path expected = kCases / GetParam();
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  make_inputs(folder);
  const std::vector<std::string> before = names_in(folder);

  const Outcome outcome = run_in(folder, bytes_of(expected / "command"));
  write_again(expected / "stdout", outcome.out);
  write_again(expected / "stderr", outcome.err);
  const std::string status = bytes_of(expected / "exit");
  EXPECT_EQ(outcome.status, status.empty() ? 0 : std::stoi(status));
  EXPECT_TRUE(text_matches(bytes_of(expected / "stdout"), outcome.out)) << outcome.out;
  EXPECT_TRUE(text_matches(bytes_of(expected / "stderr"), outcome.err)) << outcome.err;
  // 1 is a job that was done, with a result that does not meet a requirement.
  if (outcome.status > 1) {
    EXPECT_EQ(names_in(folder), before) << "a failed command left something behind";
  }
}

INSTANTIATE_TEST_SUITE_P(CommandLine, Case, testing::ValuesIn(names_in(kCases)),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tare::test
