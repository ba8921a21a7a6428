#include "tare/calibrator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
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

TensorStatistics statistics_of(std::span<const float> values) {
  TensorStatistics result;
  result.observe(values);
  return result;
}

std::uint64_t counted(const TensorStatistics& observed) {
  const std::vector<std::uint64_t> bins = observed.bins();
  return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
}

/// Few values are kept as they are and many in bins.
class SummaryOf : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(FewAndMany, SummaryOf, ::testing::Values(1, 200, 1100, 1200, 20000));

TEST_P(SummaryOf, CountsEveryValueInTheBinThatHoldsIt) {
  const std::vector<float> values = wild_values(GetParam(), 1);
  const TensorStatistics observed = statistics_of(values);
  std::vector<std::uint64_t> expected(TensorStatistics::kBins, 0);
  std::uint64_t zeros = 0;
  for (const float x : values) {
    if (x == 0) {
      ++zeros;
    } else {
      const double bin = std::floor(static_cast<double>(x) / observed.bin_width());
      ++expected.at(static_cast<std::size_t>(bin + TensorStatistics::kBins / 2.0));
    }
  }
  EXPECT_EQ(observed.bins(), expected);
  EXPECT_EQ(observed.zeros(), zeros);
  EXPECT_EQ(observed.count(), values.size());
  EXPECT_EQ(observed.low(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(observed.high(), *std::max_element(values.begin(), values.end()));
}

// Counts are kept in 16 bits until there are more values than these hold, then in 32, then 64.

TEST(TensorStatistics, CountsMoreEqualValuesThanSixteenBitsHold) {
  const std::vector<float> values(70000, 0.75F);
  const TensorStatistics whole = statistics_of(values);
  EXPECT_EQ(std::ranges::max(whole.bins()), 70000U);
  TensorStatistics in_turns;
  for (std::size_t first = 0; first < values.size(); first += 7000) {
    in_turns.observe(std::span(values).subspan(first, 7000));
  }
  EXPECT_EQ(in_turns.bins(), whole.bins());
}

TEST(TensorStatistics, MergesCountsWhoseSumSixteenBitsDoNotHold) {
  TensorStatistics merged = statistics_of(std::vector<float>(40000, 0.75F));
  merged.merge(statistics_of(std::vector<float>(40000, 0.75F)));
  EXPECT_EQ(std::ranges::max(merged.bins()), 80000U);
  // A value far away folds all of them into the two bins beside zero.
  merged.observe(std::vector<float>{1e30F});
  EXPECT_EQ(std::ranges::max(merged.bins()), 80000U);
}

TEST(TensorStatistics, GoesOnFromCountsThatThirtyTwoBitsDoNotHold) {
  constexpr std::uint64_t kMany = 5'000'000'000;
  TensorStatistics::Fields fields = statistics_of(std::vector<float>(2000, 0.75F)).fields();
  *std::ranges::max_element(fields.bins) = kMany;
  fields.count = kMany;
  TensorStatistics observed = TensorStatistics::of(fields);
  EXPECT_EQ(std::ranges::max(observed.fields().bins), kMany);
  observed.merge(TensorStatistics::of(fields));
  observed.observe(std::vector<float>{0.75F});
  EXPECT_EQ(std::ranges::max(observed.bins()), 2 * kMany + 1);
  EXPECT_EQ(observed.count(), 2 * kMany + 1);
}

TEST(TensorStatistics, UsesAtLeastAQuarterOfTheBinsOnTheWiderSide) {
  const std::vector<float> values = wild_values(1000, 2);
  const TensorStatistics observed = statistics_of(values);
  const double reach = std::max(-observed.low(), observed.high());
  EXPECT_GE(reach / observed.bin_width(), TensorStatistics::kBins / 4.0);
  EXPECT_LE(reach / observed.bin_width(), TensorStatistics::kBins / 2.0);
}

TEST(TensorStatistics, WithoutAHistogramHaveTheSameExtremesAndMeans) {
  const std::vector<float> values = wild_values(5000, 7);
  const std::span<const float> all(values);
  TensorStatistics counted;
  TensorStatistics first = TensorStatistics::without_histogram();
  TensorStatistics second = TensorStatistics::without_histogram();
  for (std::size_t i = 0; i < 5; ++i) {
    counted.observe(all.subspan(1000 * i, 1000));
    (i < 2 ? first : second).observe(all.subspan(1000 * i, 1000));
  }
  first.observe(std::vector{std::numeric_limits<float>::quiet_NaN(), 0.0F});
  counted.observe(std::vector{std::numeric_limits<float>::quiet_NaN(), 0.0F});
  first.merge(second);
  EXPECT_EQ(first.low(), counted.low());
  EXPECT_EQ(first.high(), counted.high());
  EXPECT_EQ(first.count(), counted.count());
  EXPECT_EQ(first.nan(), 1U);
  EXPECT_EQ(first.samples(), 6U);
  EXPECT_EQ(first.mean_low(), counted.mean_low());
  EXPECT_EQ(first.mean_high(), counted.mean_high());
  EXPECT_FALSE(first.has_bins());
  EXPECT_TRUE(counted.has_bins());
}

TEST(TensorStatistics, OfAnySplitInAnyOrderAreThoseOfTheWhole) {
  std::vector<std::vector<float>> samples;
  TensorStatistics whole;
  for (unsigned seed = 0; seed < 50; ++seed) {
    samples.push_back(wild_values(seed * 10, seed));
    whole.observe(samples.back());
  }
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(samples.begin(), samples.end(), random);
    std::vector<TensorStatistics> parts(1 + random() % 6);
    for (const auto& sample : samples) {
      parts[random() % parts.size()].observe(sample);
    }
    TensorStatistics merged;
    for (const TensorStatistics& part : parts) {
      merged.merge(part);
    }
    EXPECT_EQ(merged, whole);
  }
}

TEST(TensorStatistics, IsTheSameReadBackWhetherItHasFewValuesOrMany) {
  for (const std::size_t count : {0, 1, 900, 3000}) {
    TensorStatistics observed = statistics_of(wild_values(count, 5));
    TensorStatistics back = TensorStatistics::of(observed.fields());
    EXPECT_EQ(back, observed) << count;
    const TensorStatistics more = statistics_of(wild_values(70, 6));
    back.merge(more);
    TensorStatistics whole = more;
    whole.merge(observed);
    EXPECT_EQ(back, whole) << count;
  }
}

TEST(TensorStatistics, CountsTinyNegativeNumbersBelowZeroBesideHugeOnes) {
  const TensorStatistics observed = statistics_of(std::vector<float>{1e38F, -1e-38F, 1e-38F});
  EXPECT_EQ(observed.bins()[TensorStatistics::kBins / 2 - 1], 1U);
  EXPECT_EQ(observed.bins()[TensorStatistics::kBins / 2], 1U);
}

TEST(TensorStatistics, KnowsOneZero) {
  const TensorStatistics observed = statistics_of(std::vector<float>{-0.0F, -0.0F});
  EXPECT_FALSE(std::signbit(observed.low()));
  EXPECT_FALSE(std::signbit(observed.high()));
}

TEST(TensorStatistics, AveragesTheExtremesOfSamples) {
  TensorStatistics observed;
  observed.observe(std::vector<float>{-1, 0, 5});
  observed.observe(std::vector<float>{-3, 2});
  observed.observe(std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  observed.observe({});
  EXPECT_EQ(observed.samples(), 2U);
  EXPECT_EQ(observed.mean_low(), -2);
  EXPECT_EQ(observed.mean_high(), 3.5);
  EXPECT_EQ(TensorStatistics().mean_high(), 0);
}

TEST(TensorStatistics, CountsValuesThatAreNoNumbersApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const TensorStatistics observed =
      statistics_of(std::vector<float>{1, nan, -infinity, 2, infinity, 0});
  EXPECT_EQ(observed.nan(), 1U);
  EXPECT_EQ(observed.infinite(), 2U);
  EXPECT_EQ(observed.count(), 3U);
  EXPECT_EQ(observed.low(), 0);
  EXPECT_EQ(observed.high(), 2);
}

TEST(TensorStatistics, HoldsTheSmallestAndLargestFloats) {
  using Limits = std::numeric_limits<float>;
  const TensorStatistics observed =
      statistics_of(std::vector<float>{Limits::denorm_min(), Limits::max(), Limits::lowest()});
  EXPECT_EQ(observed.high(), Limits::max());
  EXPECT_EQ(counted(observed), 3U);
  const TensorStatistics tiny = statistics_of(std::vector<float>{Limits::denorm_min()});
  EXPECT_EQ(counted(tiny), 1U);
}

TEST(TensorStatistics, OfZerosHasNoBins) {
  const TensorStatistics observed = statistics_of(std::vector<float>(100, 0.0F));
  EXPECT_TRUE(observed.bins().empty());
  EXPECT_EQ(observed.zeros(), 100U);
}

}  // namespace
}  // namespace tare::test
