#include "tare/error.h"

#include "calibrate/calibrator_support.h"
#include "support/message.h"

#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Max, IsTheRangeOfTheData) {
  const std::vector<float> values{-1.5F, 0, 4.25F, 3};
  EXPECT_EQ(make_calibrator("max")->choose(statistics_of(values), kAsymmetric),
            (Range{-1.5, 4.25}));
}

TEST(AverageMax, IsTheMeanOfTheExtremesOfSamples) {
  TensorStatistics observed;
  double lows = 0;
  double highs = 0;
  for (std::size_t sample = 1; sample <= 100; ++sample) {
    const std::vector<float> values =
        normal_values(sample * 10, 0.25F, static_cast<float>(sample));
    observed.observe(values);
    lows += static_cast<double>(*std::min_element(values.begin(), values.end()));
    highs += static_cast<double>(*std::max_element(values.begin(), values.end()));
  }
  // Sums of 100 floats below 2^9 are exact in a double.
  EXPECT_EQ(make_calibrator("average_max")->choose(observed, kAsymmetric),
            (Range{lows / 100, highs / 100}));
}

TEST(AverageMax, MovesByItsShareForOneUnusualSample) {
  TensorStatistics observed;
  for (int sample = 0; sample < 99; ++sample) {
    observed.observe(std::vector<float>{-1, 1});
  }
  observed.observe(std::vector<float>{-1, 1001});
  EXPECT_EQ(make_calibrator("average_max")->choose(observed, kAsymmetric), (Range{-1, 11}));
}

TEST(AverageMax, LeavesSamplesWithoutANumberOut) {
  TensorStatistics observed;
  observed.observe(std::vector<float>{-4, 8});
  observed.observe(std::vector<float>{std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(make_calibrator("average_max")->choose(observed, kAsymmetric), (Range{-4, 8}));
}

TEST(PercentOfMax, IsAShareOfBothExtremes) {
  const TensorStatistics observed = statistics_of({-1, 0.5F, 3});
  EXPECT_EQ(make_calibrator("percent_of_max")->choose(observed, kAsymmetric),
            (Range{-0.99, 3 * 0.99}));
  EXPECT_EQ(make_calibrator("percent_of_max", {{"percent", 50}})->choose(observed, kAsymmetric),
            (Range{-0.5, 1.5}));
}

TEST(PercentOfMax, Of100IsMax) {
  const TensorStatistics observed = statistics_of(normal_values(1000));
  EXPECT_EQ(
      make_calibrator("percent_of_max", {{"percent", 100}})->choose(observed, kAsymmetric),
      make_calibrator("max")->choose(observed, kAsymmetric));
}

TEST(PercentOfMax, RefusesAShareThatIsNone) {
  for (const double percent : {0.0, -1.0, 100.5}) {
    EXPECT_THROW((void)make_calibrator("percent_of_max", {{"percent", percent}}), Error);
  }
}

TEST(Fixed, IsItsOptionsWhateverWasObserved) {
  const auto calibrator = make_calibrator("fixed", {{"low", -1}, {"high", 2.5}});
  for (const NamedValues& tensor : tensors()) {
    for (const QuantSpec& spec : specs()) {
      EXPECT_EQ(calibrator->choose(statistics_of(tensor.values), spec), (Range{-1, 2.5}))
          << tensor.name;
    }
  }
  EXPECT_EQ(calibrator->choose(TensorStatistics(), kAsymmetric), (Range{-1, 2.5}));
}

std::string refusal(const std::map<std::string, double>& options) {
  return message_of([&] { return make_calibrator("fixed", options); },
                    ErrorCode::kInvalidConfig);
}

TEST(Fixed, NamesEveryOptionThatIsMissingOrWrong) {
  EXPECT_EQ(refusal({}),
            "calibrator 'fixed': has no 'low', expected a number\n"
            "calibrator 'fixed': has no 'high', expected a number");
  EXPECT_EQ(refusal({{"low", 1}}), "calibrator 'fixed': has no 'high', expected a number");
  EXPECT_EQ(refusal({{"low", 2}, {"high", 1}}),
            "calibrator 'fixed': low is 2.000000, expected at most high, which is 1.000000");
  EXPECT_NE(refusal({{"low", 0}, {"high", 1e39}}), "no error");
  EXPECT_EQ(refusal({{"low", 1}, {"high", 1}}), "no error");
}

}  // namespace
}  // namespace tare::test
