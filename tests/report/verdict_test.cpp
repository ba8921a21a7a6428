#include "tare/report.h"

#include "report/diagnose.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Deviation error_of(double sqnr) {
  Deviation error;
  error.sqnr = sqnr;
  error.mse = 1;
  return error;
}

LayerReport layer(const std::string& name, double local) {
  LayerReport result;
  result.name = name;
  result.op = "Conv";
  result.local = error_of(local);
  result.cumulative = error_of(local);
  return result;
}

/// Of a network whose layers lose that much by themselves.
Report report(double output, const std::vector<double>& layers) {
  Report result;
  result.samples = 16;
  result.outputs = {{.name = "y", .error = error_of(output), .agreement = {}}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    result.layers.push_back(layer("conv" + std::to_string(i), layers[i]));
  }
  return result;
}

TEST(Verdict, ThatIsPoorComesWithTheWorstLayersWhereNothingElseStandsOut) {
  Report poor = report(6.5, {31, 24, 27, 22, 35, 26, 29});
  diagnose(poor);
  EXPECT_EQ(poor.level, Level::kPoor);
  ASSERT_EQ(poor.diagnoses.size(), 1U);
  EXPECT_EQ(poor.diagnoses[0].kind, "spread_loss");
  EXPECT_EQ(poor.diagnoses[0].layer, "conv3");
  EXPECT_NE(poor.diagnoses[0].advice.find("tare search"), std::string::npos);
  for (const char* name : {"conv3", "conv1", "conv5", "conv2", "conv6"}) {
    EXPECT_NE(poor.diagnoses[0].yaml.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(poor.diagnoses[0].yaml.find("conv4"), std::string::npos);
}

TEST(Verdict, ThatIsGoodNeedsNoAdvice) {
  Report good = report(30, {31, 24, 27});
  diagnose(good);
  EXPECT_EQ(good.level, Level::kGood);
  EXPECT_TRUE(good.diagnoses.empty());
}

TEST(Verdict, ThatIsGoodStandsAboveNoSevereFinding) {
  Report good = report(30, {31, 2});
  good.layers[1].accumulator = AccumulatorReport{.bits_observed = 40,
                                                 .bits_worst_case = 40,
                                                 .bits_there = 32,
                                                 .bias_margin = {},
                                                 .widened_channels = 0};
  diagnose(good);
  EXPECT_EQ(good.level, Level::kGood);
  ASSERT_EQ(good.diagnoses.size(), 1U);
  // From two thirds on the page calls it severe.
  EXPECT_LT(good.diagnoses[0].severity, 2.0 / 3);
  Report poor = report(6, {31, 2});
  poor.layers[1].accumulator = good.layers[1].accumulator;
  diagnose(poor);
  EXPECT_GE(poor.diagnoses[0].severity, 2.0 / 3);
}

TEST(Verdict, DoesNotHangOnASingleSample) {
  const auto level = [](std::uint64_t count, std::uint64_t of) {
    Report some = report(30, {});
    some.outputs[0].agreement = Proportion{count, of};
    diagnose(some);
    return some.level;
  };
  EXPECT_EQ(level(15, 16), Level::kGood);
  EXPECT_EQ(level(14, 16), Level::kPoor);
  EXPECT_EQ(level(94, 100), Level::kFair);
  EXPECT_EQ(level(95, 100), Level::kGood);
}

TEST(Verdict, SaysWhichSamplesItIsOf) {
  Report some = report(30, {});
  some.evaluated_on = EvaluatedOn::kCalibration;
  diagnose(some);
  EXPECT_EQ(some.verdict.find("On 16 calibration samples "), 0U) << some.verdict;
  some.evaluated_on = EvaluatedOn::kHeldOut;
  diagnose(some);
  EXPECT_EQ(some.verdict.find("On 16 held-out samples "), 0U) << some.verdict;
}

TEST(WrongInputs, ComeBeforeAllElseAndAreNeverGood) {
  Report some = report(40, {31, 2});
  some.layers[0].inputs = {"image"};
  some.layers[1].accumulator = AccumulatorReport{.bits_observed = 40,
                                                 .bits_worst_case = 40,
                                                 .bits_there = 32,
                                                 .bias_margin = {},
                                                 .widened_channels = 0};
  some.input_warnings = {{"input 'image'", "is not prepared as in training"}};
  diagnose(some);
  EXPECT_EQ(some.level, Level::kFair);
  ASSERT_EQ(some.diagnoses.size(), 2U);
  EXPECT_EQ(some.diagnoses[0].kind, "input_preparation");
  EXPECT_EQ(some.diagnoses[0].layer, "conv0");
  EXPECT_EQ(some.diagnoses[0].text, "input 'image' is not prepared as in training");
  EXPECT_NE(some.verdict.find("wrongly prepared"), std::string::npos);
}

}  // namespace
}  // namespace tare::test
