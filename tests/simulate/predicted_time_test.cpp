

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "support/config.h"
#include "support/files/models.h"
#include "support/graphs.h"

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

TEST(PredictedTime, SaysWhatLayersCostThatAccuracyKeepsInFloat) {
  const Toolkit& toolkit = Toolkit::builtin();
  const Graph prepared = prepare(digits(), toolkit);
  const Target target = read_target("ort-cpu");
  const SimulatedGraph all = simulate(prepared, {}, target, toolkit.patterns);
  std::set<std::string> floats;
  for (const NodeId id : all.regions[all.regions.size() / 2].match.nodes()) {
    floats.insert(all.source.node(id).name);
  }
  const SimulatedGraph some = simulate(prepared, {}, target, toolkit.patterns, floats);
  const auto table_of = [](const SimulatedGraph& simulated) {
    QuantTable table;
    for (const QuantPoint& point : simulated.points) {
      table[point.name].enabled = true;
    }
    return table;
  };
  const auto fast = predicted_time(all, table_of(all), toolkit.patterns);
  const auto slow = predicted_time(some, table_of(some), toolkit.patterns, floats);
  ASSERT_TRUE(fast && slow);
  EXPECT_DOUBLE_EQ(fast->fastest, fast->quantized);
  EXPECT_DOUBLE_EQ(slow->fastest, fast->quantized);
  EXPECT_GT(slow->quantized, slow->fastest);
}

/// The engine pools integers only where the result is quantized, which nothing does for a
/// layer in float.
TEST(PredictedTime, CountsAPoolInFloatWhereItsReaderIs) {
  const Toolkit& toolkit = Toolkit::builtin();
  const Graph prepared = prepare(digits(), toolkit);
  const auto time_without = [&](const std::vector<std::string>& ops) {
    Config config;
    for (const std::string& op : ops) {
      LayerRule& rule = config.layers.emplace_back();
      rule.op = op;
      rule.keep_float = true;
    }
    const SimulatedGraph simulated =
        simulate(prepared, config, read_target("ort-cpu"), toolkit.patterns);
    QuantTable all;
    for (const QuantPoint& point : simulated.points) {
      all[point.name].enabled = true;
    }
    return predicted_time(simulated, all, toolkit.patterns)->quantized;
  };
  const Target target = read_target("ort-cpu");
  const double elements = 96 * 4 * 4;  // that are pooled
  EXPECT_GT(time_without({"Gemm"}) - time_without({}),
            target.conversion.call +
                elements * (target.conversion.element + target.conversion.layout));
}

TEST(PredictedTime, IsNotToldOfNetworksThatRunInnerGraphs) {
  Graph plain = digits();
  const Shape shape = plain.type(plain.outputs()[0]).shape;
  plain.set_outputs({add(plain, "Relu", {plain.outputs()[0]}, shape)});
  EXPECT_TRUE(predicted(plain, "ort-cpu"));

  Graph branch;
  branch.set_outputs({add(branch, "Relu", {branch.add_input("x", f32(shape))}, shape)});
  Graph graph = digits();
  const ValueId condition = graph.add_input("condition", typed(DType::kBool, {}));
  graph.set_outputs({add(graph, "If", {condition, graph.outputs()[0]}, shape,
                         {{"captured", std::vector<std::string>{"x"}},
                          {"then_branch", print(branch)},
                          {"else_branch", print(branch)}})});
  EXPECT_FALSE(predicted(graph, "ort-cpu"));
}

TEST(PredictedTime, IsNotToldOfTargetsWithoutCosts) {
  EXPECT_FALSE(predicted(digits(), "tensorrt"));
}

}  // namespace
}  // namespace tare::test
