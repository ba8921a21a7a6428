#include "calibrate/calibrator_support.h"

#include <functional>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Where `error` is least, by trying.
double argmin(const std::function<double(double)>& error) {
  constexpr double kStep = 1e-4;
  double best = kStep;
  for (double x = kStep; x < 20; x += kStep) {
    best = error(x) < error(best) ? x : best;
  }
  return best;
}

/// The expected squared errors of the paper, for unit mean distance and unit deviation, when
/// `levels` storage values span [-x, x].
double laplace_error(double x, double levels) {
  return 2 * std::exp(-x) + x * x / (3 * levels * levels);
}
double normal_error(double x, double levels) {
  return (x * x + 1) * std::erfc(x / std::sqrt(2.0)) + x * x / (3 * levels * levels) -
         std::sqrt(2 / 3.14159265358979) * x * std::exp(-x * x / 2);
}
double laplace_clip(double levels) {
  return argmin([=](double x) { return laplace_error(x, levels); });
}
double normal_clip(double levels) {
  return argmin([=](double x) { return normal_error(x, levels); });
}

struct Moments {
  double mean = 0;
  double distance = 0;   ///< mean, from the mean
  double deviation = 0;  ///< from the mean
};
Moments moments_of(const std::vector<float>& values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (const float x : values) {
    result.mean += static_cast<double>(x) / count;
  }
  double squares = 0;
  for (const float x : values) {
    const double off = static_cast<double>(x) - result.mean;
    result.distance += std::abs(off) / count;
    squares += off * off / count;
  }
  result.deviation = std::sqrt(squares);
  return result;
}

Range chosen(const std::vector<float>& values, const QuantSpec& spec) {
  return make_calibrator("aciq")->choose(statistics_of(values), spec);
}

// Moments from bins are off by less than a bin, and clips multiply that.
double bound(const std::vector<float>& values, double clip) {
  constexpr double kStepOfArgmin = 1e-4;
  return (clip + 1) * statistics_of(values).bin_width() + kStepOfArgmin * clip;
}

TEST(Aciq, HasThePublishedClipsOf8Bits) {
  // Of the program published with the paper; for the one-sided case those of 9 bits.
  EXPECT_NEAR(laplace_clip(256), 9.89675982, 1e-4);
  EXPECT_NEAR(laplace_clip(512), 11.16268502, 1e-4);
  EXPECT_NEAR(normal_clip(256), 3.92403714, 1e-4);
}

TEST(Aciq, ClipsALaplaceDistributionWhereTheErrorOfThePaperIsLeast) {
  const std::vector<float> values = laplace_values(1000000);
  const double clip = laplace_clip(256);
  const Range range = chosen(values, kAsymmetric);
  EXPECT_NEAR(range.low, -clip, bound(values, clip));
  EXPECT_NEAR(range.high, clip, bound(values, clip));
}

TEST(Aciq, ClipsANormalDistributionAroundItsMean) {
  const std::vector<float> values = normal_values(1000000);
  const double clip = normal_clip(256);
  const Moments moments = moments_of(values);
  const Range range = chosen(values, kAsymmetric);
  EXPECT_NEAR(range.low, moments.mean - clip * moments.deviation, bound(values, clip));
  EXPECT_NEAR(range.high, moments.mean + clip * moments.deviation, bound(values, clip));
}

TEST(Aciq, ClipsAroundZeroForSymmetricStorage) {
  const std::vector<float> values = normal_values(1000000);
  const Moments moments = moments_of(values);
  const double around_zero = std::hypot(moments.mean, moments.deviation);
  const double clip = normal_clip(256);
  const Range range = chosen(values, kSymmetric);
  EXPECT_NEAR(range.high, clip * around_zero, bound(values, clip));
  EXPECT_EQ(range.low, -range.high);
}

TEST(Aciq, TakesOneSidedDataForHalfOfADistributionAroundZero) {
  const std::vector<float> both = laplace_values(1000000);
  const std::vector<float> half = without_negative(both);
  const Range range = chosen(half, kAsymmetric);
  EXPECT_EQ(range.low, 0);
  EXPECT_NEAR(range.high, laplace_clip(512), bound(half, laplace_clip(512)));
  // Symmetric storage uses half of its values.
  EXPECT_NEAR(chosen(half, kSymmetric).high, laplace_clip(256), bound(half, laplace_clip(256)));
  // The other half, and how many zeros it left, make no difference.
  std::vector<float> mirrored = with(half, std::vector<float>(1000, 0.0F));
  for (float& x : mirrored) {
    x = -x;
  }
  const Range other = chosen(mirrored, kAsymmetric);
  EXPECT_EQ(other.high, 0);
  // Values on the edge between bins are in the other one now.
  EXPECT_NEAR(other.low, -range.high, statistics_of(half).bin_width());
}

TEST(Aciq, CountsZerosAsValuesWhereThereAreTwoSides) {
  const std::vector<float> values =
      with(normal_values(100000, 2, 1), std::vector<float>(100000, 0.0F));
  const Moments moments = moments_of(values);
  const double clip = normal_clip(256);
  ASSERT_LT(clip * moments.deviation, 10);
  const Range range = chosen(with(values, {-10, 10}), kAsymmetric);
  EXPECT_NEAR(range.high, moments.mean + clip * moments.deviation, bound(values, clip));
}

TEST(Aciq, FollowsTheDistributionThatIsMoreLikely) {
  for (const auto& values :
       {normal_values(100000, 0, 1), laplace_values(100000), even_values(100000, -1, 1)}) {
    const Moments moments = moments_of(values);
    double laplace = 0;
    double normal = 0;
    for (const float value : values) {
      const double off = static_cast<double>(value) - moments.mean;
      laplace += -std::log(2 * moments.distance) - std::abs(off) / moments.distance;
      normal += -std::log(moments.deviation * std::sqrt(2 * 3.14159265358979)) -
                off * off / (2 * moments.deviation * moments.deviation);
    }
    // Far values that clips do not reach; too few to move the moments by as much as a bin.
    const std::vector<float> wide = with(values, {-20, 20});
    const double clip = laplace > normal ? laplace_clip(256) * moments.distance
                                         : normal_clip(256) * moments.deviation;
    EXPECT_NEAR(chosen(wide, kAsymmetric).high, moments.mean + clip, bound(wide, 10));
  }
}

}  // namespace
}  // namespace tare::test
