#include "tare/error.h"

#include "calibrate/calibrator_support.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Percentile, MatchesTheSortedDataWithinOneBin) {
  std::vector<float> values = normal_values(100000);
  const TensorStatistics observed = statistics_of(values);
  const Range range =
      make_calibrator("percentile", {{"percentile", 99}})->choose(observed, kAsymmetric);
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(range.low, values[500], observed.bin_width());
  EXPECT_NEAR(range.high, values[99500], observed.bin_width());
  const Range even =
      make_calibrator("percentile", {{"percentile", 99}})->choose(observed, kSymmetric);
  std::sort(values.begin(), values.end(),
            [](float a, float b) { return std::abs(a) < std::abs(b); });
  EXPECT_NEAR(even.high, std::abs(values[99000]), observed.bin_width());
  EXPECT_EQ(even.low, -even.high);
}

TEST(Percentile, CountsZerosAsValues) {
  // 1 % of the values is not zero, so 98 % keeps half of those.
  std::vector<float> values(10000, 0.0F);
  for (std::size_t i = 0; i < 100; ++i) {
    values[i] = static_cast<float>(i + 1);
  }
  const Range range = make_calibrator("percentile", {{"percentile", 99}})
                          ->choose(statistics_of(values), kAsymmetric);
  EXPECT_EQ(range.low, 0);
  EXPECT_NEAR(range.high, 50, 1);  // values are one apart
}

TEST(Percentile, Of100IsMax) {
  const TensorStatistics observed = statistics_of(normal_values(1000));
  const Range range =
      make_calibrator("percentile", {{"percentile", 100}})->choose(observed, kAsymmetric);
  EXPECT_EQ(range, (Range{observed.low(), observed.high()}));
}

TEST(Percentile, RefusesAShareThatIsNone) {
  EXPECT_THROW((void)make_calibrator("percentile", {{"percentile", 0}}), Error);
  EXPECT_THROW((void)make_calibrator("percentile", {{"percentile", 101}}), Error);
}

}  // namespace
}  // namespace tare::test
