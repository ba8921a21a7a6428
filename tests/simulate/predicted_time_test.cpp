

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "support/config.h"
#include "support/files/models.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::optional<PredictedTime> predicted(const Graph& model, const std::string& target,
                                       const std::vector<std::string>& settings = {}) {
  const Toolkit& toolkit = Toolkit::builtin();
  Config config = config_with(settings);
  config.target = target;
  const SimulatedGraph simulated =
      simulate(prepare(model, toolkit), config, read_target(target), toolkit.patterns);
  QuantTable all;
  for (const QuantPoint& point : simulated.points) {
    all[point.name].enabled = true;
  }
  return predicted_time(simulated, all, toolkit.patterns);
}

Graph digits() {
  const TestModel model = test_models().front();
  return load_model(model.model, {{"batch", 1}}, nullptr);
}

/// What stays in float was left there because that is the fastest, so no float network is
/// faster.
TEST(PredictedTime, IsNoLongerThanThatOfTheFloatNetworkWhereTimeDecides) {
  const auto time = predicted(digits(), "ort-cpu");
  ASSERT_TRUE(time);
  EXPECT_GT(time->quantized, 0);
  EXPECT_LE(time->quantized, time->floats);
}

TEST(PredictedTime, OfANetworkThatStaysInFloatIsThatOfTheFloatNetwork) {
  const Toolkit& toolkit = Toolkit::builtin();
  Config config;
  config.layers = {{.op = {}, .name = "*", .pattern = {}, .keep_float = true}};
  const SimulatedGraph simulated =
      simulate(prepare(digits(), toolkit), config, read_target("ort-cpu"), toolkit.patterns);
  const auto time = predicted_time(simulated, {}, toolkit.patterns);
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->quantized, time->floats);
}

/// Everything on integers costs conversions that the fastest mixture saves.
TEST(PredictedTime, GrowsWithWhatDoesNotPay) {
  const auto fastest = predicted(digits(), "ort-cpu");
  const auto all = predicted(digits(), "ort-cpu", {"objective=coverage"});
  ASSERT_TRUE(fastest && all);
  EXPECT_GE(all->quantized, fastest->quantized);
  EXPECT_DOUBLE_EQ(all->floats, fastest->floats);
}

TEST(PredictedTime, IsNotToldOfTargetsWithoutCosts) {
  EXPECT_FALSE(predicted(digits(), "tensorrt"));
}

}  // namespace
}  // namespace tare::test
