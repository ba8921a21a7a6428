
#include "calibrate/calibrator_support.h"

#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const TensorStatistics& observed() {
  static const TensorStatistics statistics = statistics_of({-20, 0.5F, 100});
  return statistics;
}

double square(double x) {
  return x * x;
}

TEST(LeastCostRange, FindsEachEndOfASmoothBowl) {
  const Range found = least_cost_range(observed(), kAsymmetric, 8, [](const Range& range) {
    return square(std::log(-range.low / 3)) + square(std::log(range.high / 70));
  });
  // The finest step between places is 2^(1/512), 0.14 %.
  EXPECT_NEAR(found.low, -3, 3 * 0.0014);
  EXPECT_NEAR(found.high, 70, 70 * 0.0014);
}

TEST(LeastCostRange, MovesBothEndsToOneDistanceForSymmetricStorage) {
  const Range found = least_cost_range(observed(), kSymmetric, 8, [](const Range& range) {
    return square(std::log(range.high / 12));
  });
  EXPECT_EQ(found.low, -found.high);
  EXPECT_NEAR(found.high, 12, 12 * 0.0014);
}

TEST(LeastCostRange, OffersRangesThatHoldZeroWithinTheObservedOne) {
  std::size_t offered = 0;
  (void)least_cost_range(observed(), kAsymmetric, 8, [&](const Range& range) {
    EXPECT_GE(range.low, -20);
    EXPECT_LE(range.low, 0);
    EXPECT_GE(range.high, 0);
    EXPECT_LE(range.high, 100);
    ++offered;
    return 1;
  });
  EXPECT_GT(offered, 200U);
}

TEST(LeastCostRange, KeepsTheWidestOfRangesThatCostTheSame) {
  const auto constant = [](const Range&) { return 1.0; };
  EXPECT_EQ(least_cost_range(observed(), kAsymmetric, 8, constant), (Range{-20, 100}));
  const auto flat = [](const Range& range) { return range.high > 50 ? 2.0 : 1.0; };
  const Range found = least_cost_range(observed(), kAsymmetric, 8, flat);
  EXPECT_EQ(found.low, -20);
  EXPECT_NEAR(found.high, 50, 50 * 0.0014);
}

TEST(LeastCostRange, IsTheObservedOneWhereNothingIsACandidate) {
  EXPECT_EQ(
      least_cost_range(observed(), kAsymmetric, 8,
                       [](const Range&) { return std::numeric_limits<double>::infinity(); }),
      (Range{-20, 100}));
}

}  // namespace
}  // namespace tare::test
