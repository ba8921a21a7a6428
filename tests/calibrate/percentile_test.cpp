#include "tare/error.h"

#include "calibrate/calibrator_support.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare {
namespace {

TEST(Percentile, MatchesTheSortedDataWithinOneBin) {
  std::vector<float> values = normal_values(100000);
  const Summary seen = summary_of(values);
  const Range range =
      make_calibrator("percentile", {{"percentile", 99}})->choose(seen, kAsymmetric);
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(range.low, values[500], seen.bin_width());
  EXPECT_NEAR(range.high, values[99500], seen.bin_width());
  const Range even =
      make_calibrator("percentile", {{"percentile", 99}})->choose(seen, kSymmetric);
  std::sort(values.begin(), values.end(),
            [](float a, float b) { return std::abs(a) < std::abs(b); });
  EXPECT_NEAR(even.high, std::abs(values[99000]), seen.bin_width());
  EXPECT_EQ(even.low, -even.high);
}

TEST(Percentile, CountsZerosAsValues) {
  // 1 % of the values is not zero, so 98 % keeps half of those.
  std::vector<float> values(10000, 0.0F);
  for (std::size_t i = 0; i < 100; ++i) {
    values[i] = static_cast<float>(i + 1);
  }
  const Range range = make_calibrator("percentile", {{"percentile", 99}})
                          ->choose(summary_of(values), kAsymmetric);
  EXPECT_EQ(range.low, 0);
  EXPECT_NEAR(range.high, 50, 1);  // values are one apart
}

TEST(Percentile, Of100IsMax) {
  const Summary seen = summary_of(normal_values(1000));
  const Range range =
      make_calibrator("percentile", {{"percentile", 100}})->choose(seen, kAsymmetric);
  EXPECT_EQ(range, (Range{seen.low(), seen.high()}));
}

TEST(Percentile, RefusesAShareThatIsNone) {
  EXPECT_THROW((void)make_calibrator("percentile", {{"percentile", 0}}), Error);
  EXPECT_THROW((void)make_calibrator("percentile", {{"percentile", 101}}), Error);
}

}  // namespace
}  // namespace tare
