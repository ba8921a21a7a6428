#include "tare/error.h"
#include "tare/pipeline.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tare {
namespace {

std::unique_ptr<const Calibrator> make(const std::string& name,
                                       std::map<std::string, double> options = {}) {
  for (const CalibratorInfo& info : Toolkit::builtin().calibrators) {
    if (info.name == name) {
      return info.make(CalibratorOptions(options));
    }
  }
  throw std::runtime_error("no calibrator " + name);
}

Summary summary_of(const std::vector<float>& values) {
  Summary result;
  result.observe(values);
  return result;
}

constexpr QuantSpec kAsymmetric{.storage = DType::kUint8};
constexpr QuantSpec kSymmetric{.storage = DType::kInt8, .symmetric = true};

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.5F, 2);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

TEST(Max, IsTheRangeOfTheData) {
  const std::vector<float> values{-1.5F, 0, 4.25F, 3};
  EXPECT_EQ(make("max")->choose(summary_of(values), kAsymmetric), (Range{-1.5, 4.25}));
}

TEST(Percentile, MatchesTheSortedDataWithinOneBin) {
  std::vector<float> values = normal_values(100000);
  const Summary seen = summary_of(values);
  const Range range = make("percentile", {{"percentile", 99}})->choose(seen, kAsymmetric);
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(range.low, values[500], seen.bin_width());
  EXPECT_NEAR(range.high, values[99500], seen.bin_width());
  const Range even = make("percentile", {{"percentile", 99}})->choose(seen, kSymmetric);
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
  const Range range =
      make("percentile", {{"percentile", 99}})->choose(summary_of(values), kAsymmetric);
  EXPECT_EQ(range.low, 0);
  EXPECT_NEAR(range.high, 50, 1);  // values are one apart
}

TEST(Percentile, Of100IsMax) {
  const Summary seen = summary_of(normal_values(1000));
  const Range range = make("percentile", {{"percentile", 100}})->choose(seen, kAsymmetric);
  EXPECT_EQ(range, (Range{seen.low(), seen.high()}));
}

TEST(Percentile, RefusesAShareThatIsNone) {
  EXPECT_THROW((void)make("percentile", {{"percentile", 0}}), Error);
  EXPECT_THROW((void)make("percentile", {{"percentile", 101}}), Error);
}

class EveryCalibrator : public testing::TestWithParam<std::string> {};

TEST_P(EveryCalibrator, StaysWithinWhatWasSeen) {
  const auto calibrator = make(GetParam());
  for (const auto& values :
       {normal_values(5000), std::vector<float>{3, 3, 3}, std::vector<float>{-2},
        std::vector<float>{0, 0}, std::vector<float>{1e-30F, 1e30F}}) {
    const Summary seen = summary_of(values);
    const double reach = std::max(std::abs(seen.low()), std::abs(seen.high()));
    for (const QuantSpec& spec : {kAsymmetric, kSymmetric}) {
      const Range range = calibrator->choose(seen, spec);
      EXPECT_LE(range.low, range.high);
      EXPECT_GE(range.low, -reach);
      EXPECT_LE(range.high, reach);
      EXPECT_NO_THROW((void)to_quant_params({range}, spec));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryCalibrator,
                         testing::ValuesIn(Toolkit::builtin().calibrator_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tare
