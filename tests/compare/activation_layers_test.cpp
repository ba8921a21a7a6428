#include "tare/graph.h"
#include "tare/quantize.h"
#include "tare/report.h"

#include "compare/compare.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Two products with SiLU between; inputs from -40 to 8.
struct ActivatedNetwork {
  ActivatedNetwork()
      : graph(parse(R"(graph "g" opset 17 (%in : f32[1,4]) -> (%y) {
  const %w : f32[4,4] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  const %v : f32[4,4] = [1, -1, 1, 1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1, 1, -1]
  first: %x = MatMul(%in, %w) : f32[1,4]
  gate: %s = Sigmoid(%x) : f32[1,4]
  silu: %a = Mul(%x, %s) : f32[1,4]
  second: %y = MatMul(%a, %v) : f32[1,4]
}
)")),
        data({{"in", inputs()}}) {}

  static Tensor inputs() {
    Random random(3);
    Tensor in = random.tensor({64, 4});
    for (float& x : in.mutable_view<float>()) {
      x = x < 0 ? 40 * x : 8 * x;
    }
    return in;
  }

  Report report(const std::string& calibrator) const {
    Config config;
    config.target = "qnn";
    config.slowdown = 0;  // 8 bits for all
    config.activations.calibrator.name = calibrator;
    return compare_result(quantize(graph, data, config, Toolkit::builtin()), data,
                          Toolkit::builtin(), {});
  }

  Graph graph;
  SamplesInMemory data;
};

/// A residual block in which `a` is 2 h or -12.7 h, down to -25, and `b` goes from 0 to 0.6.
struct ResidualNetwork {
  ResidualNetwork()
      : graph(parse(R"(graph "g" opset 17 (%in : f32[1,4]) -> (%y) {
  const %w : f32[4,4] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  const %m : f32[4,4] = [-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1]
  const %u : f32[4,4] = [0.3, 0, 0, 0, 0, 0.3, 0, 0, 0, 0, 0.3, 0, 0, 0, 0, 0.3]
  const %v : f32[8,4] = [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2,
    -12.7, 0, 0, 0, 0, -12.7, 0, 0, 0, 0, -12.7, 0, 0, 0, 0, -12.7]
  const %x : f32[4,4] = [1, -1, 1, 1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1, 1, -1]
  above: %p = MatMul(%in, %w) : f32[1,4]
  positive: %h = Relu(%p) : f32[1,4]
  below: %n = MatMul(%in, %m) : f32[1,4]
  negative: %g = Relu(%n) : f32[1,4]
  both: %c = Concat(%h, %g) {axis = 1} : f32[1,8]
  deep: %a = MatMul(%c, %v) : f32[1,4]
  short: %z = MatMul(%in, %u) : f32[1,4]
  skip: %b = Abs(%z) : f32[1,4]
  sum: %s = Add(%a, %b) : f32[1,4]
  relu: %r = Relu(%s) : f32[1,4]
  last: %y = MatMul(%r, %x) : f32[1,4]
}
)")),
        data({{"in", Random(3).tensor({64, 4})}}) {}

  QuantizeResult quantized(const std::string& calibrator, const std::string& schedule) const {
    Config config;
    config.target = "qnn";
    config.slowdown = 0;  // 8 bits for all
    config.activations.calibrator.name = calibrator;
    config.schedule =
        schedule == "independent" ? Schedule::kIndependent : Schedule::kSequential;
    return quantize(graph, data, config, Toolkit::builtin());
  }

  Report report(const std::string& calibrator,
                const std::string& schedule = "sequential") const {
    return compare_result(quantized(calibrator, schedule), data, Toolkit::builtin(), {});
  }

  Graph graph;
  SamplesInMemory data;
};

const PointReport& point(const Report& report, const std::string& name) {
  return *std::find_if(report.points.begin(), report.points.end(),
                       [&](const PointReport& each) { return each.name == name; });
}

TEST(ActivationLayers, EndBehindTheActivationFunction) {
  const Report report = ActivatedNetwork().report("mse");
  ASSERT_EQ(report.layers.size(), 2U);
  EXPECT_EQ(report.layers[0].name, "first");
  EXPECT_EQ(report.layers[0].result, "a");
  EXPECT_EQ(report.layers[1].name, "second");
  // Most values saturate, below where SiLU is flat, which is no error of its results.
  EXPECT_GT(point(report, "x").saturated.low, 0.2);
  EXPECT_LT(*point(report, "x").error.sqnr, 5);
  EXPECT_GT(*point(report, "x").sqnr_behind, 35);
  EXPECT_GT(*report.layers[0].local->sqnr, 35);
}

TEST(ActivationLayers, AreJudgedByTheErrorBehind) {
  const ActivatedNetwork network;
  const Report good = network.report("mse");
  EXPECT_EQ(
      std::count_if(good.diagnoses.begin(), good.diagnoses.end(),
                    [](const Diagnosis& finding) { return finding.kind == "saturation"; }),
      0);
  // What the whole range costs is told in the same units.
  const Report wide = network.report("max");
  EXPECT_GT(*point(wide, "x").error_behind, 4 * *point(good, "x").error_behind);
  const auto& others = point(good, "x").alternatives;
  const auto max =
      std::find_if(others.begin(), others.end(),
                   [](const AlternativeCalibrator& each) { return each.calibrator == "max"; });
  EXPECT_NEAR(max->error, *point(wide, "x").error_behind, 0.05 * max->error);
  // The least error is that of `mse`, much as it chose it from values with an error of their
  // own.
  EXPECT_EQ(others[0].calibrator, "mse");
  EXPECT_LE(others[0].error, *point(good, "x").error_behind);
  EXPECT_GT(others[0].error, 0.9 * *point(good, "x").error_behind);
  EXPECT_FALSE(point(good, "y").error_behind);
}

const LayerReport& layer(const Report& report, const std::string& name) {
  return *std::find_if(report.layers.begin(), report.layers.end(),
                       [&](const LayerReport& each) { return each.name == name; });
}

TEST(RectifiedLayers, AreJudgedByWhatTheReluShows) {
  const Report report = ResidualNetwork().report("mse");
  // -25 and -1 are the same to the Relu, since `b` is never above 1.
  EXPECT_GT(point(report, "a").saturated.low, 0.2);
  EXPECT_GT(point(report, "a").calibrated.low, -2);
  EXPECT_LT(*point(report, "a").error.sqnr, 5);
  EXPECT_GT(*point(report, "a").sqnr_behind, 35);
  EXPECT_EQ(layer(report, "deep").result, "a");
  EXPECT_GT(*layer(report, "deep").local->sqnr, 35);
  EXPECT_GT(*layer(report, "deep").cumulative->sqnr, 35);
  EXPECT_EQ(
      std::count_if(report.diagnoses.begin(), report.diagnoses.end(),
                    [](const Diagnosis& finding) { return finding.kind == "saturation"; }),
      0);
}

TEST(RectifiedLayers, HaveRangesThatLeaveStepsToWhatTheReluShows) {
  const ResidualNetwork network;
  const Report known = network.report("mse");
  const Report wide = network.report("max");
  EXPECT_LT(point(wide, "a").calibrated.low, -20) << "max holds all values";
  // Fewer than a third of the steps are between -1 and the highest value before.
  EXPECT_GT(*known.outputs[0].error.sqnr, *wide.outputs[0].error.sqnr + 5);
  EXPECT_GT(*point(wide, "a").error_behind, 4 * *point(known, "a").error_behind);
  EXPECT_GT(point(network.report("mse", "independent"), "a").calibrated.low, -2);
}

}  // namespace
}  // namespace tare::test
