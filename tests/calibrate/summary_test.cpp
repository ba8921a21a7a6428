#include "tare/calibrator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tare {
namespace {

/// Six decades of magnitudes, both signs, exact zeros among them.
std::vector<float> wild_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> exponent(0, 2);
  std::uniform_int_distribution<int> kind(0, 9);
  std::vector<float> values(count);
  for (float& x : values) {
    const int k = kind(random);
    x = k == 0 ? 0 : (k % 2 == 0 ? 1.0F : -1.0F) * std::pow(10.0F, exponent(random));
  }
  return values;
}

Summary summary_of(std::span<const float> values) {
  Summary result;
  result.observe(values);
  return result;
}

std::uint64_t counted(const Summary& seen) {
  const std::vector<std::uint64_t> bins = seen.bins();
  return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
}

/// Few values are kept as they are and many in bins.
class SummaryOf : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(FewAndMany, SummaryOf, ::testing::Values(1, 200, 1100, 1200, 20000));

TEST_P(SummaryOf, CountsEveryValueInTheBinThatHoldsIt) {
  const std::vector<float> values = wild_values(GetParam(), 1);
  const Summary seen = summary_of(values);
  std::vector<std::uint64_t> expected(Summary::kBins, 0);
  std::uint64_t zeros = 0;
  for (const float x : values) {
    if (x == 0) {
      ++zeros;
    } else {
      const double bin = std::floor(static_cast<double>(x) / seen.bin_width());
      ++expected.at(static_cast<std::size_t>(bin + Summary::kBins / 2.0));
    }
  }
  EXPECT_EQ(seen.bins(), expected);
  EXPECT_EQ(seen.zeros(), zeros);
  EXPECT_EQ(seen.count(), values.size());
  EXPECT_EQ(seen.low(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(seen.high(), *std::max_element(values.begin(), values.end()));
}

TEST(Summary, UsesAtLeastAQuarterOfTheBinsOnTheWiderSide) {
  const std::vector<float> values = wild_values(1000, 2);
  const Summary seen = summary_of(values);
  const double reach = std::max(-seen.low(), seen.high());
  EXPECT_GE(reach / seen.bin_width(), Summary::kBins / 4.0);
  EXPECT_LE(reach / seen.bin_width(), Summary::kBins / 2.0);
}

TEST(Summary, OfAnySplitInAnyOrderIsTheSummaryOfTheWhole) {
  std::vector<std::vector<float>> samples;
  Summary whole;
  for (unsigned seed = 0; seed < 50; ++seed) {
    samples.push_back(wild_values(seed * 10, seed));
    whole.observe(samples.back());
  }
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(samples.begin(), samples.end(), random);
    std::vector<Summary> parts(1 + random() % 6);
    for (const auto& sample : samples) {
      parts[random() % parts.size()].observe(sample);
    }
    Summary merged;
    for (const Summary& part : parts) {
      merged.merge(part);
    }
    EXPECT_EQ(merged, whole);
  }
}

TEST(Summary, IsTheSameReadBackWhetherItHasFewValuesOrMany) {
  for (const std::size_t count : {0, 1, 900, 3000}) {
    Summary seen = summary_of(wild_values(count, 5));
    Summary back = Summary::of(seen.fields());
    EXPECT_EQ(back, seen) << count;
    const Summary more = summary_of(wild_values(70, 6));
    back.merge(more);
    Summary whole = more;
    whole.merge(seen);
    EXPECT_EQ(back, whole) << count;
  }
}

TEST(Summary, CountsTinyNegativeNumbersBelowZeroBesideHugeOnes) {
  const Summary seen = summary_of(std::vector<float>{1e38F, -1e-38F, 1e-38F});
  EXPECT_EQ(seen.bins()[Summary::kBins / 2 - 1], 1U);
  EXPECT_EQ(seen.bins()[Summary::kBins / 2], 1U);
}

TEST(Summary, KnowsOneZero) {
  const Summary seen = summary_of(std::vector<float>{-0.0F, -0.0F});
  EXPECT_FALSE(std::signbit(seen.low()));
  EXPECT_FALSE(std::signbit(seen.high()));
}

TEST(Summary, AveragesTheExtremesOfSamples) {
  Summary seen;
  seen.observe(std::vector<float>{-1, 0, 5});
  seen.observe(std::vector<float>{-3, 2});
  seen.observe(std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  seen.observe({});
  EXPECT_EQ(seen.samples(), 2U);
  EXPECT_EQ(seen.mean_low(), -2);
  EXPECT_EQ(seen.mean_high(), 3.5);
  EXPECT_EQ(Summary().mean_high(), 0);
}

TEST(Summary, CountsValuesThatAreNoNumbersApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Summary seen = summary_of(std::vector<float>{1, nan, -infinity, 2, infinity, 0});
  EXPECT_EQ(seen.nan(), 1U);
  EXPECT_EQ(seen.infinite(), 2U);
  EXPECT_EQ(seen.count(), 3U);
  EXPECT_EQ(seen.low(), 0);
  EXPECT_EQ(seen.high(), 2);
}

TEST(Summary, HoldsTheSmallestAndLargestFloats) {
  using Limits = std::numeric_limits<float>;
  const Summary seen =
      summary_of(std::vector<float>{Limits::denorm_min(), Limits::max(), Limits::lowest()});
  EXPECT_EQ(seen.high(), Limits::max());
  EXPECT_EQ(counted(seen), 3U);
  const Summary tiny = summary_of(std::vector<float>{Limits::denorm_min()});
  EXPECT_EQ(counted(tiny), 1U);
}

TEST(Summary, OfZerosHasNoBins) {
  const Summary seen = summary_of(std::vector<float>(100, 0.0F));
  EXPECT_TRUE(seen.bins().empty());
  EXPECT_EQ(seen.zeros(), 100U);
}

}  // namespace
}  // namespace tare
