
#include "calibrate/calibrator_support.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(HistogramSegments, HoldAllValuesButZerosInOrder) {
  const std::vector<float> values = with(normal_values(5000), {0, 0, 0, 100});
  const TensorStatistics observed = statistics_of(values);
  std::uint64_t count = 0;
  double end = observed.low();
  for (const HistogramSegment& part : histogram_segments(observed)) {
    EXPECT_GE(part.from, end);
    EXPECT_LE(part.width(), observed.bin_width());
    const auto inside = std::count_if(values.begin(), values.end(), [&](float value) {
      const auto x = static_cast<double>(value);
      return x != 0 && x >= part.from &&
             (x < part.to || (x == part.to && x == observed.high()));
    });
    EXPECT_EQ(part.count, static_cast<std::uint64_t>(inside));
    count += part.count;
    end = part.to;
  }
  EXPECT_EQ(count, values.size() - 3);
  EXPECT_EQ(end, observed.high());
}

TEST(HistogramSegments, OfOneValueAreThatValue) {
  EXPECT_EQ(histogram_segments(statistics_of({0.7F, 0.7F})),
            (std::vector<HistogramSegment>{
                {static_cast<double>(0.7F), static_cast<double>(0.7F), 2}}));
  EXPECT_EQ(histogram_segments(statistics_of({-4})),
            (std::vector<HistogramSegment>{{-4, -4, 1}}));
  EXPECT_TRUE(histogram_segments(statistics_of({0})).empty());
  EXPECT_TRUE(histogram_segments(TensorStatistics()).empty());
}

TEST(RangeWithZero, IsTheObservedRangeWidenedToHoldZero) {
  EXPECT_EQ(range_with_zero(statistics_of({2, 3})), (Range{0, 3}));
  EXPECT_EQ(range_with_zero(statistics_of({-3, -2})), (Range{-3, 0}));
  EXPECT_EQ(range_with_zero(statistics_of({-3, 2})), (Range{-3, 2}));
}

}  // namespace
}  // namespace tare::test
