// Every folder in tests/cli/cases is a test; see the README beside it.
#include "cli/inputs.h"
#include "cli/program.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace tare {
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

/// `expected` with {any} for any text against one line.
bool line_matches(std::string_view expected, std::string_view line) {
  constexpr std::string_view kAny = "{any}";
  const std::size_t any = expected.find(kAny);
  if (any == std::string_view::npos) {
    return expected == line;
  }
  if (line.substr(0, any) != expected.substr(0, any)) {
    return false;
  }
  const std::string_view rest = expected.substr(any + kAny.size());
  for (std::size_t begin = any; begin <= line.size(); ++begin) {
    if (line_matches(rest, line.substr(begin))) {
      return true;
    }
  }
  return false;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool text_matches(std::string_view expected, std::string_view text) {
  if (expected.empty() || text.empty()) {
    return expected.empty() == text.empty() || expected == "{lines}\n";
  }
  const std::string_view wanted = take_line(expected);
  if (wanted != "{lines}") {
    return line_matches(wanted, take_line(text)) && text_matches(expected, text);
  }
  for (;;) {
    if (text_matches(expected, text)) {
      return true;
    }
    if (text.empty()) {
      return false;
    }
    take_line(text);
  }
}

class Case : public testing::TestWithParam<std::string> {};

TEST_P(Case, PrintsAndExitsAsItsFilesSay) {
  const fs::path expected = kCases / GetParam();
  const fs::path folder = fs::path(testing::TempDir()) / ("tare_case_" + GetParam());
  fs::remove_all(folder);
  fs::create_directories(folder);
  make_inputs(folder);
  const std::vector<std::string> before = names_in(folder);

  const Outcome outcome = run_in(folder, text_of(expected / "command"));
  const std::string status = text_of(expected / "exit");
  EXPECT_EQ(outcome.status, status.empty() ? 0 : std::stoi(status));
  EXPECT_TRUE(text_matches(text_of(expected / "stdout"), outcome.out)) << outcome.out;
  EXPECT_TRUE(text_matches(text_of(expected / "stderr"), outcome.err)) << outcome.err;
  // 1 is a job that was done, with a result that does not meet a requirement.
  if (outcome.status > 1) {
    EXPECT_EQ(names_in(folder), before) << "a failed command left something behind";
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(CommandLine, Case, testing::ValuesIn(names_in(kCases)),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tare
