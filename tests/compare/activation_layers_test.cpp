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

}  // namespace
}  // namespace tare::test
