// Engines by their protocol, against a program that says known times.
#include "tare/error.h"
#include "tare/search.h"

#include "engine/base64.h"
#include "engine/engine.h"
#include "engine/fake_engine.h"
#include "engine/timing.h"
#include "support/message.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const std::string kFloat = TARE_SOURCE_DIR "/data/digits.onnx";

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

SpeedComparison itself(const EngineOptions& engine) {
  return measure_speed(kFloat, kFloat, engine, {}, nullptr, {.seconds = 1});
}

TEST(Base64, IsThatOfTheStandard) {
  const std::pair<std::string_view, std::string_view> published[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"}};  // RFC 4648, section 10
  for (const auto& [text, encoded] : published) {
    EXPECT_EQ(base64(text), encoded);
  }
}

TEST(MedianInterval, HoldsTheTrueMedianInNineteenOfTwentyCasesWhateverTheDistribution) {
  std::mt19937 random(7);
  std::exponential_distribution<double> skewed;
  constexpr int kCases = 2000;
  int held = 0;
  for (int i = 0; i < kCases; ++i) {
    std::vector<double> values(41);
    std::generate(values.begin(), values.end(), [&] { return skewed(random); });
    const ConfidenceInterval interval = median_interval(values);
    held += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high ? 1 : 0;
  }
  // Three standard deviations of a share of 95 %; wider bounds would be cautious, but useless.
  EXPECT_GT(held, kCases * 0.935);
  EXPECT_LT(held, kCases * 0.99);
}

TEST(PrintedTime, IsFoundInTheWordsOfKnownPrograms) {
  EXPECT_EQ(printed_nanoseconds("[I] GPU Compute Time: min = 0.1 ms, max = 0.4 ms, mean = 0.3 "
                                "ms, median = 0.25 ms, percentile(90%) = 0.3 ms\n"),
            0.25e6);
  EXPECT_EQ(printed_nanoseconds("[ INFO ]    Median:        1.50 ms\n[ INFO ] Average: 2 ms"),
            1.5e6);
  EXPECT_EQ(printed_nanoseconds("Average inference time cost: 3.5 ms\nTotal: 1 s\n"), 3.5e6);
  EXPECT_EQ(printed_nanoseconds("warming up\n{\"median\": 1234, \"runs\": 5}\n"), 1234);
  EXPECT_EQ(printed_nanoseconds("latency avg 12 us"), 12e3);
}

TEST(PrintedTime, IsNotGuessedWithoutAUnitOrAWord) {
  EXPECT_EQ(printed_nanoseconds("median 12"), std::nullopt);
  EXPECT_EQ(printed_nanoseconds("12 ms"), std::nullopt);
  EXPECT_EQ(printed_nanoseconds(""), std::nullopt);
  EXPECT_EQ(printed_nanoseconds("{\"median\": -3}"), std::nullopt);
}

TEST(MeasureSpeed, OfAModelAndItselfIsOne) {
  const SpeedComparison speed = itself(fake_engine("fast"));
  EXPECT_EQ(speed.ratio.value, 1);
  EXPECT_EQ(speed.first.median, 100'000);
  EXPECT_EQ(speed.engine.name, "fake");
  EXPECT_EQ(speed.engine.threads, 1);
}

TEST(MeasureSpeed, IsNotMovedByRoundsThatAreDisturbedForAll) {
  const SpeedComparison speed = itself(fake_engine("noisy"));
  EXPECT_EQ(speed.ratio.value, 1);
  EXPECT_EQ(speed.ratio.low, 1);
  EXPECT_EQ(speed.ratio.high, 1);
}

TEST(MeasureSpeed, SendsTheModelToAnEngineThatDoesNotSeeTheFile) {
  EXPECT_EQ(itself(fake_engine("sent")).first.median, 100'000);
}

TEST(MeasureSpeed, TakesMediansWhereAnEngineSaysNoMore) {
  EXPECT_EQ(itself(fake_engine("quartiles")).first.median, 100'000);
}

TEST(MeasureSpeed, RunsACommandWithTheModelInItForEachTime) {
  const EngineOptions command{.engine = "test -f {model} && echo median: 2.5 ms", .threads = 1};
  const SpeedComparison speed = itself(command);
  EXPECT_EQ(speed.first.median, 2.5e6);
  EXPECT_EQ(speed.ratio.value, 1);
}

TEST(MeasureSpeed, HasAnExecutorOfItsOwn) {
  const SpeedComparison speed = itself({.engine = "tare"});
  EXPECT_EQ(speed.engine.name, "tare");
  EXPECT_GT(speed.first.median, 0);
  // The same program twice; rounds of a tenth of a millisecond on a machine that does other
  // things.
  EXPECT_GT(speed.ratio.value, 0.7);
  EXPECT_LT(speed.ratio.value, 1.4);
}

std::string failure(const std::string& kind, double patience = 20) {
  return message_of([&] { return itself(fake_engine(kind, patience)); },
                    ErrorCode::kUnsupported);
}

TEST(MeasureSpeed, SaysWhatTheEngineDidInstead) {
  expect_part(failure("refuses"), "no kernel for that");
  expect_part(failure("crashes"), "ended with status 9: illegal instruction");
  expect_part(failure("nonsense"), "answers 'all is well'");
  expect_part(failure("few"), "gives 0 samples of 1");
  expect_part(failure("negative"), "gives times that are not above 0");
  expect_part(failure("unnamed"), "does not say 'engine' when it starts");
}

TEST(MeasureSpeed, WaitsNoLongerThanItIsToldTo) {
  const auto start = std::chrono::steady_clock::now();
  expect_part(failure("hangs", 2), "did not answer in time");
  // Two waits of two seconds, and what Python takes to start.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(MeasureSpeed, SaysThatACommandDoesNotExist) {
  expect_part(message_of([] { return itself({.engine = "no_such_program_anywhere"}); },
                         ErrorCode::kUnsupported),
              "ended with status 127");
}

}  // namespace
}  // namespace tare::test
