
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "calibrate/calibrate.h"
#include "support/config.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random_network.h"
#include "support/simulated.h"

#include <cmath>
#include <map>
#include <utility>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A simulated graph and samples for it.
struct Case {
  SimulatedGraph simulated;
  SamplesInMemory data;
};

Case random_case(std::uint32_t seed, const Config& config = {}) {
  Random random(seed);
  const Toolkit& toolkit = Toolkit::builtin();
  const Graph graph = prepare(random_network(random, 20), toolkit);
  return {simulated_with(graph, config), random_samples(graph, 6, random)};
}

Config configured(const std::string& calibrator) {
  Config config;
  config.activations.calibrator.name = calibrator;
  return config;
}

void expect_same_decisions(const QuantTable& table, const QuantTable& expected) {
  ASSERT_EQ(table.size(), expected.size());
  for (const auto& [name, result] : expected) {
    ASSERT_TRUE(table.contains(name)) << name;
    EXPECT_EQ(table.at(name).params, result.params) << name;
    EXPECT_EQ(table.at(name).bias_correction, result.bias_correction) << name;
    EXPECT_EQ(table.at(name).rounding, result.rounding) << name;
  }
}

class Sequential : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Sequential, DoesNotDependOnThreadsOrMemory) {
  const Case c = random_case(GetParam());
  const auto& calibrators = Toolkit::builtin().calibrators;
  const QuantTable expected =
      calibrate_sequentially(c.simulated, c.data, calibrators, {.threads = 1});
  for (const int threads : {2, 3, 7}) {
    // Nothing in memory, a sample or two of each level, all that is decided, and everything.
    for (const std::size_t memory : {1U, 2000U, 20000U, 1U << 30U}) {
      expect_same_decisions(calibrate_sequentially(c.simulated, c.data, calibrators,
                                                   {.threads = threads, .memory = memory}),
                            expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RandomGraphs, Sequential, ::testing::Range(1U, 13U));

TEST(SequentialSchedule, SeesTheErrorOfTheLayersBefore) {
  // The second convolution of a chain reads clipped values.
  Random random(1);
  Graph graph;
  const Shape shape{1, 4, 6, 6};
  const ValueId x = graph.add_input("x", f32(shape));
  const ValueId a = graph.add_constant("a", random.tensor({4, 4, 1, 1}));
  const ValueId b = graph.add_constant("b", random.tensor({4, 4, 1, 1}));
  const ValueId y = add(graph, "Conv", {x, a}, shape);
  graph.set_outputs({add(graph, "Conv", {y, b}, shape)});
  Config config = configured("percent_of_max");
  config.activations.calibrator.options["percent"] = 50;
  const Toolkit& toolkit = Toolkit::builtin();
  const SimulatedGraph simulated = simulated_with(graph, config);
  const SamplesInMemory data({{"x", random.tensor({8, 4, 6, 6})}});
  const auto reach = [&](const QuantTable& table) {
    return table.at(graph.name(y)).observed[0].high;
  };
  EXPECT_LT(reach(calibrate_sequentially(simulated, data, toolkit.calibrators)),
            reach(calibrate(simulated, data, toolkit.calibrators)));
}

TEST(SequentialSchedule, LeavesARangeThatTheUserGaveAsItIs) {
  Config config = configured("fixed");
  config.activations.calibrator.options = {{"low", 0}, {"high", 6}};
  const Case c = random_case(1, config);
  for (const auto& [name, result] :
       calibrate_sequentially(c.simulated, c.data, Toolkit::builtin().calibrators)) {
    if (c.simulated.find(name)->role == Role::kActivation) {
      EXPECT_EQ(result.calibrated[0], (Range{0, 6})) << name;
    }
  }
}

/// The level behind that of x reads h and k in float, which no level has looked at.
Graph with_late_inputs(const std::string& inputs) {
  return parse("graph \"g\" opset 17 (" + inputs +
               ") -> (%y) {\n"
               "const %w : f32[2,2] = [1, 0.5, -0.25, 1]\n"
               "%a = MatMul(%x, %w) : f32[1,2]\n%b = Sub(%a, %h) : f32[1,2]\n"
               "%c = Sub(%k, %b) : f32[1,2]\n%y = MatMul(%c, %w) : f32[1,2]\n}");
}

TEST(SequentialSchedule, TakesInputsWhereTheyAreReadInWhateverOrderTheyAreDeclared) {
  std::map<std::string, Tensor> values;
  for (const auto& [name, factor] : {std::pair("x", 1.0F), {"h", 100.0F}, {"k", 0.01F}}) {
    Tensor tensor(DType::kFloat32, {16, 2});
    for (std::size_t i = 0; i < 32; ++i) {
      tensor.mutable_view<float>()[i] = factor * std::sin(static_cast<float>(i) + factor);
    }
    values.emplace(name, std::move(tensor));
  }
  const SamplesInMemory data(std::move(values));
  Config config = config_with({"objective=coverage"});
  LayerRule rule;
  rule.op = "Sub";
  rule.keep_float = true;
  config.layers = {rule};
  const auto table = [&](const std::string& inputs) {
    return calibrate_sequentially(
        simulated_with(prepare(with_late_inputs(inputs), Toolkit::builtin()), config), data,
        Toolkit::builtin().calibrators, {});
  };
  const std::string x = "%x : f32[1,2]";
  const std::string h = "%h : f32[1,2]";
  const std::string k = "%k : f32[1,2]";
  const QuantTable expected = table(h + ", " + k + ", " + x);
  EXPECT_GT(expected.at("c").observed[0].high, 50);
  EXPECT_FALSE(expected.contains("h"));
  expect_same_decisions(table(x + ", " + h + ", " + k), expected);
  expect_same_decisions(table(k + ", " + x + ", " + h), expected);
}

TEST(SequentialSchedule, ReportsProgressOfEveryLevelToTheEnd) {
  const Case c = random_case(2);
  std::size_t last = 0;
  std::size_t total = 0;
  (void)calibrate_sequentially(
      c.simulated, c.data, Toolkit::builtin().calibrators,
      {.threads = 2, .progress = [&](std::size_t done, std::size_t of) {
         EXPECT_GT(done, last);
         last = done;
         total = of;
       }});
  EXPECT_EQ(last, total);
  EXPECT_EQ(total % c.data.size(), 0U);
}

}  // namespace
}  // namespace tare::test
