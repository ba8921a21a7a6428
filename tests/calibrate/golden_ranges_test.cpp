#include "calibrate/calibrator_support.h"
#include "support/files/files.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What calibrators make of tensors that quantizers stumble over: ranges for asymmetric uint8
/// and symmetric int8. Ranges of tensors with few values, and those of max, average_max and
/// percent_of_max, can be worked out by hand; the rest shows changes.
const std::filesystem::path kGolden =
    std::filesystem::path(TARE_SOURCE_DIR) / "tests/calibrate/golden_ranges.txt";

std::string text(const Range& range) {
  char buffer[64];
  // Adding 0 makes -0 what it is.
  (void)std::snprintf(buffer, sizeof buffer, "[%.3g, %.3g]", range.low + 0, range.high + 0);
  return buffer;
}

TEST(Golden, EveryCalibratorChoosesTheRangesOfTheTable) {
  std::ostringstream result;
  for (const NamedValues& tensor : tensors()) {
    const TensorStatistics observed = statistics_of(tensor.values);
    for (const std::string& name : Toolkit::builtin().calibrator_names()) {
      // `fixed` says in its options what comes out, `auto` tries the others.
      if (name != "fixed" && name != "auto") {
        const auto calibrator = make_calibrator(name);
        result << tensor.name << ' ' << name << ' '
               << text(calibrator->choose(observed, kAsymmetric)) << ' '
               << text(calibrator->choose(observed, kSymmetric)) << '\n';
      }
    }
  }
  if (std::getenv("TARE_WRITE_GENERATED") != nullptr) {
    std::ofstream(kGolden, std::ios::binary) << result.str();
  }
  EXPECT_EQ(bytes_of(kGolden), result.str()) << "scripts/write_generated.sh writes it";
}

}  // namespace
}  // namespace tare::test
