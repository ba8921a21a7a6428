// The page of reports on real networks, in a real browser.

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/quantize.h"
#include "tare/report.h"

#include "support/files/models.h"
#include "support/files/temporary_folder.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace tare::test {
namespace {

/// Where in_browser.sh has no browser to drive.
constexpr int kSkipped = 77;

class RealReports : public ::testing::TestWithParam<TestModel> {};

INSTANTIATE_TEST_SUITE_P(Models, RealReports, ::testing::ValuesIn(test_models()),
                         [](const auto& given) { return given.param.name; });

TEST_P(RealReports, AreReadInABrowserWithoutAFault) {
  constexpr std::size_t kSamples = 2;
  const auto data = open_dataset(GetParam().calibration);
  Config config;
  config.effort = Effort::kFast;
  const Toolkit& toolkit = Toolkit::builtin();
  const QuantizeResult result = quantize(load_model(GetParam().model, {}, data.get()), *data,
                                         config, toolkit, {.samples = kSamples});
  const TemporaryFolder folder;
  const std::filesystem::path page = folder / "report.html";
  write_report(page, compare_result(result, *data, toolkit, {.samples = kSamples}),
               ReportFormat::kHtml);
  const std::string command = std::string(TARE_IN_BROWSER) + " '" + page.string() + "'";
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kSkipped) {
    GTEST_SKIP() << "there is no browser to drive";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tare::test
