#include "calibrate/audit/audit.h"

#include "tare/execute.h"

#include "calibrate/calibrator_support.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

double share(const std::vector<float>& values, const std::function<bool(double)>& outside) {
  return static_cast<double>(std::count_if(values.begin(), values.end(), outside)) /
         static_cast<double>(values.size());
}

/// The share of all values in the bins around `end`.
double share_near(const TensorStatistics& observed, double end) {
  std::uint64_t count = 0;
  for (const HistogramSegment& segment : histogram_segments(observed)) {
    if (std::abs(segment.middle() - end) <= observed.bin_width()) {
      count += segment.count;
    }
  }
  return static_cast<double>(count) / static_cast<double>(observed.count());
}

TEST(ClippedShares, AreThoseOfCountingButForTheBinsAtTheEnds) {
  for (const auto& values : {normal_values(20000), laplace_values(20000),
                             even_values(999, 2, 3), without_negative(laplace_values(5000))}) {
    const TensorStatistics observed = statistics_of(values);
    for (const double part : {0.1, 0.5, 0.9}) {
      const Range kept{observed.low() * part, observed.high() * part};
      const Clipped shares = clipped_shares(observed, kept, kAsymmetric);
      EXPECT_NEAR(shares.low,
                  share(values, [&](double x) { return x < std::min(kept.low, 0.0); }),
                  share_near(observed, kept.low));
      EXPECT_NEAR(shares.high, share(values, [&](double x) { return x > kept.high; }),
                  share_near(observed, kept.high));
    }
  }
}

TEST(ClippedShares, AreNothingWhereTheRangeIsThatOfTheValues) {
  for (const auto& [name, values] : tensors()) {
    const TensorStatistics observed = statistics_of(values);
    for (const QuantSpec& spec : specs()) {
      EXPECT_EQ(clipped_shares(observed, {observed.low(), observed.high()}, spec), Clipped())
          << name;
    }
  }
}

TEST(ClippedShares, OfSymmetricStorageCountBeyondTheLongerSide) {
  const TensorStatistics observed = statistics_of(even_values(10001, -1, 1));
  const Clipped shares = clipped_shares(observed, {-0.1, 0.5}, kSymmetric);
  EXPECT_NEAR(shares.low, 0.25, 1.0 / 1024);  // a bin holds a 2048th of these values
  EXPECT_NEAR(shares.high, 0.25, 1.0 / 1024);
}

std::optional<Warning> full_range_of(const std::string& calibrator, Range chosen) {
  QuantPoint point;
  point.name = "v";
  point.calibrator.name = calibrator;
  PointResult result;
  result.calibrator = calibrator;
  result.observed = {{-1, 3}};
  result.calibrated = {chosen};
  return full_range(point, result, Toolkit::builtin().calibrators);
}

TEST(FullRange, IsAWarningWhereACalibratorThatClipsKeptAll) {
  for (const char* name : {"percentile", "kl", "aciq", "percent_of_max", "average_max"}) {
    const auto warning = full_range_of(name, {-1, 3.001});
    ASSERT_TRUE(warning) << name;
    EXPECT_EQ(warning->where, "value 'v'");
    EXPECT_EQ(warning->what,
              std::string("calibrator '") + name + "' left nothing of [-1, 3] outside");
    EXPECT_FALSE(full_range_of(name, {-1, 2.9})) << name;
  }
}

TEST(FullRange, IsWhatTheOthersAreFor) {
  EXPECT_FALSE(full_range_of("max", {-1, 3}));
  EXPECT_FALSE(full_range_of("mse", {-1, 3}));  // it clips where that is better
  EXPECT_FALSE(full_range_of("fixed", {-10, 10}));
  EXPECT_FALSE(full_range_of("auto", {-1, 3}));
  EXPECT_FALSE(full_range_of("of a plug-in that is gone", {-1, 3}));
}

/// Of one sample [1,C].
ChannelStatistics channels_of(const std::vector<float>& values) {
  const Tensor tensor =
      Tensor::of<float>({1, static_cast<std::int64_t>(values.size())}, values);
  const TensorType type = f32(tensor.shape());
  ChannelStatistics result;
  result.observe({.type = &type, .data = tensor.data()});
  return result;
}

TEST(DeadChannels, AreThoseThatWereNeverAnythingButZero) {
  EXPECT_FALSE(dead_channels("v", channels_of({1, -1, 2})));
  EXPECT_FALSE(dead_channels("v", {}));
  EXPECT_EQ(dead_channels("v", channels_of({1, 0, -1, -0.0F}))->what,
            "2 of 4 channels are always 0: 1, 3");
  EXPECT_EQ(dead_channels("v", channels_of(std::vector<float>(7)))->what,
            "7 of 7 channels are always 0: 0, 1, 2, 3, 4, ...");
  ChannelStatistics later = channels_of({1, 0, 0});
  later.merge(channels_of({0, 0, 2}));
  EXPECT_EQ(dead_channels("v", later)->what, "1 of 3 channels are always 0: 1");
}

TEST(RepeatedSamples, AreCountedAndTheFirstIsNamed) {
  EXPECT_FALSE(repeated_samples({}));
  EXPECT_FALSE(repeated_samples({{7, 0}, {8, 1}, {9, 2}}));
  EXPECT_EQ(repeated_samples({{7, 0}, {5, 1}, {9, 2}, {5, 3}, {7, 4}, {5, 5}})->what,
            "3 of 6 are copies of earlier ones; the first is sample 3, a copy of sample 1");
}

/// A convolution of pixels whose second output channel is 0, of samples among which the last is
/// a copy of the first.
CalibrationAudit audit_of(Schedule schedule, int threads) {
  Graph graph;
  const Shape shape{1, 2, 4, 4};
  const ValueId x = graph.add_input("x", f32(shape));
  const ValueId w = graph.add_constant("w", Tensor::of<float>({2, 2, 1, 1}, {1, 2, 0, 0}));
  graph.set_outputs({add(graph, "Conv", {x, w}, shape)});
  std::vector<float> pixels(9 * 32);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<float>(i % (8 * 32) * 7 % 251);
  }
  const SamplesInMemory data({{"x", Tensor::of<float>({9, 2, 4, 4}, pixels)}});
  Config config;
  config.schedule = schedule;
  return quantize(graph, data, config, Toolkit::builtin(), {.threads = threads}).audit;
}

std::vector<std::string> kinds(const CalibrationAudit& audit) {
  std::vector<std::string> result;
  for (const Warning& warning : audit.warnings) {
    result.push_back(warning.kind);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> words(const CalibrationAudit& audit) {
  std::vector<std::string> result;
  for (const Warning& warning : audit.warnings) {
    result.push_back(warning.kind + " " + warning.where + ": " + warning.what);
  }
  return result;
}

TEST(CalibrationAudit, NoticesTheSameInBothSchedules) {
  const CalibrationAudit independent = audit_of(Schedule::kIndependent, 1);
  const CalibrationAudit sequential = audit_of(Schedule::kSequential, 1);
  EXPECT_EQ(kinds(independent),
            (std::vector<std::string>{"dead_channels", "few_samples", "repeated_samples"}));
  EXPECT_EQ(kinds(sequential), kinds(independent));
  EXPECT_EQ(independent.samples, 9U);
  EXPECT_EQ(sequential.samples, 9U);
  EXPECT_EQ(sequential.data, independent.data);
}

TEST(CalibrationAudit, HasTheSameWordsForAnyNumberOfThreads) {
  for (const Schedule schedule : {Schedule::kIndependent, Schedule::kSequential}) {
    const CalibrationAudit expected = audit_of(schedule, 1);
    for (const int threads : {2, 3, 5}) {
      const CalibrationAudit audit = audit_of(schedule, threads);
      EXPECT_EQ(words(audit), words(expected));
      EXPECT_EQ(audit.data, expected.data);
    }
  }
}

}  // namespace
}  // namespace tare::test
