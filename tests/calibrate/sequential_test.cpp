
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "calibrate/calibrate.h"
#include "calibrate/sequential/layerwise_runner.h"
#include "graph/ir/subgraph.h"
#include "support/config.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random_network.h"
#include "support/simulated.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

TEST(LayerwiseRunner, TakesInputsFromTheCacheAndTheDataInAnyOrder) {
  std::map<std::string, Tensor> values;
  for (const auto& [name, factor] : {std::pair("x", 1.0F), {"h", 100.0F}, {"k", 10000.0F}}) {
    Tensor tensor(DType::kFloat32, {16, 1});
    for (std::size_t i = 0; i < 16; ++i) {
      tensor.mutable_view<float>()[i] = factor * static_cast<float>(i + 1);
    }
    values.emplace(name, std::move(tensor));
  }
  const SamplesInMemory data(std::move(values));
  for (const char* inputs : {"%x : f32[1,1], %h : f32[1,1], %k : f32[1,1]",
                             "%k : f32[1,1], %h : f32[1,1], %x : f32[1,1]",
                             "%h : f32[1,1], %x : f32[1,1], %k : f32[1,1]"}) {
    const Graph graph = parse("graph \"g\" opset 17 (" + std::string(inputs) +
                              ") -> (%y) {\n%a = Sub(%h, %x) : f32[1,1]\n"
                              "%y = Sub(%k, %a) : f32[1,1]\n}");
    const GraphCutter cutter(graph);
    const auto part = [&](const std::vector<ValueId>& sources, ValueId result) {
      Subgraph cut = cutter.cut(sources, std::vector{result});
      cut.graph.set_outputs({cut.values.at(result)});
      return cut;
    };
    LayerwiseRunner runner(graph, data, {});
    const std::vector<ValueId> x{*graph.find_value("x")};
    const std::vector<ValueId> y{*graph.find_value("y")};
    runner.step(part({}, x[0]), {}, x, {}, {});
    std::vector<float> seen(16);
    runner.step(part(runner.cached_values(), y[0]), y, {}, {},
                [&](std::size_t, std::size_t run, std::size_t, const TensorView& result) {
                  seen[run] = result.elements<float>()[0];
                });
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(seen[i], static_cast<float>(i + 1) * (10000 - (100 - 1))) << inputs;
    }
  }
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
