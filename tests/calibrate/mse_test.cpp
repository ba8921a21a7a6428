#include "calibrate/calibrator_support.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Root of the mean squared error of the values under the toolkit's own arithmetic.
double error_of(const std::vector<float>& values, const Range& range, const QuantSpec& spec) {
  const QuantParams params = to_quant_params({range}, spec);
  const Tensor x = Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values);
  const Tensor y = dequantize(quantize(x, params), params);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(y.view<float>()[i]) - static_cast<double>(values[i]);
    sum += off * off;
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// The least error of any of many ranges within what was observed, both ends moved.
double least_error(const std::vector<float>& values, const QuantSpec& spec) {
  constexpr int kEnds = 32;
  const TensorStatistics observed = statistics_of(values);
  double least = error_of(values, {observed.low(), observed.high()}, spec);
  for (int i = 1; i <= kEnds; ++i) {
    const double low = std::min(0.0, observed.low()) * i / kEnds;
    for (int j = 1; j <= kEnds; ++j) {
      const double high = std::max(0.0, observed.high()) * j / kEnds;
      least = std::min(least, error_of(values, {low, high}, spec));
    }
  }
  return least;
}

/// About `count` values with the shares of a normal distribution and evenly spread inside each
/// bin, and how far they are from even on average (root of the mean square).
struct EvenlyFilled {
  std::vector<float> values;
  double uneven = 0;
};
EvenlyFilled evenly_filled(double count, double mean, double deviation) {
  constexpr double kWidth = 1.0 / 256;  // of bins that reach from -8 to 8
  EvenlyFilled result;
  double squares = 0;
  for (int bin = -2048; bin < 2048; ++bin) {
    const double z = ((bin + 0.5) * kWidth - mean) / deviation;
    const double share = std::exp(-z * z / 2) / deviation * kWidth / std::sqrt(2 * 3.14159);
    const auto inside = static_cast<int>(std::ceil(count * share - 0.1));
    for (int i = 0; i < inside; ++i) {
      // A value stands for a piece of its bin in whose middle it lies.
      const double piece = kWidth / inside;
      result.values.push_back(static_cast<float>(bin * kWidth + (i + 0.5) * piece));
      squares += piece * piece / 4;
    }
  }
  result.uneven = std::sqrt(squares / static_cast<double>(result.values.size()));
  return result;
}

TEST(Mse, IsAtMostTwoBinsFromTheBestRangeForTheValuesThemselves) {
  // The distance to the nearest point of a grid changes by no more than the value does, and
  // the calibrator takes values to be elsewhere in their bin. So for any range the two roots of
  // mean squares differ by at most a bin; once for ours, once for the best.
  const std::vector<float> normal = normal_values(4000);
  for (const auto& values : {normal, without_negative(normal), with(normal, {-12, 40, 41}),
                             laplace_values(4000), even_values(4000, -3, 1)}) {
    const TensorStatistics observed = statistics_of(values);
    for (const QuantSpec& spec : specs()) {
      const Range range = make_calibrator("mse")->choose(observed, spec);
      EXPECT_LE(error_of(values, range, spec),
                least_error(values, spec) + 2 * observed.bin_width());
    }
  }
}

TEST(Mse, IsTheBestRangeForValuesThatFillTheirBinsEvenly) {
  // As above; but now values are no further from where they are taken to be than `uneven`.
  for (const double mean : {0.0, 2.5}) {
    const EvenlyFilled data = evenly_filled(20000, mean, 1);
    const TensorStatistics observed = statistics_of(data.values);
    ASSERT_EQ(observed.bin_width(), mean == 0 ? 1.0 / 512 : 1.0 / 256);
    for (const QuantSpec& spec : specs()) {
      const Range range = make_calibrator("mse")->choose(observed, spec);
      const double least = least_error(data.values, spec);
      EXPECT_LE(error_of(data.values, range, spec), least + 2 * data.uneven);
      EXPECT_LT(data.uneven, least / 20);  // or the bound would say little
    }
  }
}

TEST(Mse, ClipsAnOutlierWhereTheDerivativeSays) {
  // n values at scale c / 127 are off by c^2 / (12 * 127^2) on average, and the outlier R by
  // (R - c)^2: the sum is least at c = R / (1 + n / (12 * 127^2)), with second derivative
  // 2 R / c.
  const EvenlyFilled data = evenly_filled(100000, 0, 1);
  const std::vector<float> values = with(data.values, {30});
  const auto n = static_cast<double>(data.values.size());
  const double expected = 30 / (1 + n / (12 * 127.0 * 127));
  // How much the sum may differ for values that are not quite even, and what that is in c.
  const double slack = 2 * n * expected / 127 / std::sqrt(12) * data.uneven;
  const double bound = std::sqrt(2 * slack / (2 * 30 / expected));
  EXPECT_LT(bound, 1);
  const Range range = make_calibrator("mse")->choose(statistics_of(values), kSymmetric);
  EXPECT_NEAR(range.high, expected, bound);
}

TEST(Mse, KeepsValuesThatTheGridHoldsExactly) {
  std::vector<float> values;
  for (int i = 0; i <= 255; ++i) {
    values.push_back(static_cast<float>(i));
  }
  const Range range = make_calibrator("mse")->choose(statistics_of(values), kAsymmetric);
  EXPECT_EQ(error_of(values, range, kAsymmetric), 0);
}

TEST(Mse, DoesNotDependOnZeros) {
  const std::vector<float> values = without_negative(laplace_values(10000));
  const std::vector<float> sparse = with(values, std::vector<float>(1000000, 0.0F));
  for (const QuantSpec& spec : specs()) {
    EXPECT_EQ(make_calibrator("mse")->choose(statistics_of(sparse), spec),
              make_calibrator("mse")->choose(statistics_of(values), spec));
  }
}

}  // namespace
}  // namespace tare::test
