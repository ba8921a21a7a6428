
#include "calibrate/calibrator_support.h"
#include "support/difference.h"

#include <cstdio>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> result = Toolkit::builtin().calibrator_names();
  // `fixed` needs options, and they say what comes out, whatever was observed.
  std::erase(result, "fixed");
  std::erase(result, "auto");  // tries the others
  return result;
}

class EveryCalibrator : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<const Calibrator> calibrator_ = make_calibrator(GetParam());
};

TEST_P(EveryCalibrator, StaysWithinTheObservedRangeAndZero) {
  std::vector<QuantSpec> all = specs();
  all.push_back({.storage = DType::kUint16});
  all.push_back({.storage = DType::kInt32, .symmetric = true});
  for (const NamedValues& tensor : tensors()) {
    const TensorStatistics observed = statistics_of(tensor.values);
    const Range limit = range_with_zero(observed);
    for (const QuantSpec& spec : all) {
      const Range range = calibrator_->choose(observed, spec);
      EXPECT_LE(range.low, range.high) << tensor.name;
      EXPECT_GE(range.low, limit.low) << tensor.name;
      EXPECT_LE(range.high, limit.high) << tensor.name;
      EXPECT_NO_THROW((void)to_quant_params({range}, spec)) << tensor.name;
    }
  }
}

TEST_P(EveryCalibrator, OfNothingOrOfZerosIsZero) {
  for (const QuantSpec& spec : specs()) {
    EXPECT_EQ(calibrator_->choose(TensorStatistics(), spec), Range());
    EXPECT_EQ(calibrator_->choose(statistics_of({0, -0.0F}), spec), Range());
  }
}

TEST_P(EveryCalibrator, GivesPowersOfTwoWhereTheSpecAsksForThem) {
  for (const NamedValues& tensor : tensors()) {
    const TensorStatistics observed = statistics_of(tensor.values);
    for (const QuantSpec& spec : specs()) {
      if (spec.power_of_two) {
        const QuantParams params = to_quant_params({calibrator_->choose(observed, spec)}, spec);
        int exponent = 0;
        EXPECT_EQ(std::frexp(params.scale[0], &exponent), 0.5F) << tensor.name;
      }
    }
  }
}

TEST_P(EveryCalibrator, ReachesAConstant) {
  const double share = GetParam() == "percent_of_max" ? 0.99 : 1;
  for (const float constant : {3.0F, -2.0F, 0.1F, 1e-30F, -1e30F}) {
    const TensorStatistics observed = statistics_of(std::vector<float>(100, constant));
    for (const QuantSpec& spec : specs()) {
      const Range range = calibrator_->choose(observed, spec);
      EXPECT_NEAR(constant < 0 ? range.low : range.high, share * static_cast<double>(constant),
                  observed.bin_width());
    }
  }
}

TEST_P(EveryCalibrator, IgnoresWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = laplace_values(1000);
  for (const QuantSpec& spec : specs()) {
    EXPECT_EQ(
        calibrator_->choose(statistics_of(with(values, {nan, infinity, -infinity})), spec),
        calibrator_->choose(statistics_of(values), spec));
  }
}

TEST_P(EveryCalibrator, ScalesWithTheData) {
  // By powers of four, since all roundings are then the same, square roots' too.
  const std::vector<float> values = with(normal_values(5000), {0, 0, 60});
  for (const int exponent : {-100, 100}) {
    std::vector<float> scaled = values;
    for (float& x : scaled) {
      x = std::ldexp(x, exponent);
    }
    for (const QuantSpec& spec : specs()) {
      const Range range = calibrator_->choose(statistics_of(values), spec);
      EXPECT_EQ(calibrator_->choose(statistics_of(scaled), spec),
                (Range{std::ldexp(range.low, exponent), std::ldexp(range.high, exponent)}));
    }
  }
}

TEST_P(EveryCalibrator, LosesLittleOfWellBehavedData) {
  // A calibrator that collapses leaves an error near that of all zeros. 30 dB are what 5 bits
  // would give.
  for (const auto& values :
       {normal_values(20000), laplace_values(20000), without_negative(normal_values(20000)),
        even_values(20000, -1, 3)}) {
    for (const QuantSpec& spec : specs()) {
      const Tensor x = Tensor::of<float>(Shape{20000}, values);
      const QuantParams params =
          to_quant_params({calibrator_->choose(statistics_of(values), spec)}, spec);
      const Tensor y = dequantize(quantize(x, params), params);
      EXPECT_GT(sqnr(values, y.view<float>()), 30);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryCalibrator, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tare::test
