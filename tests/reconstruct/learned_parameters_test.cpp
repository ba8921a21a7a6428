#include "reconstruct/learned_parameters.h"

#include "tare/quantize.h"

#include "calibrate/calibrate.h"
#include "reconstruct/learn_block.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "support/simulated.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kInputs = 8;
constexpr std::int64_t kOutputs = 4;

Graph product() {
  Random random(1);
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, kInputs}));
  const ValueId w = graph.add_constant("w", random.tensor({kInputs, kOutputs}));
  graph.set_outputs({add(graph, "MatMul", {x, w}, {1, kOutputs})});
  return graph;
}

Config four_bits() {
  Config config;
  config.objective = Objective::kCoverage;
  config.weights.bits = 4;
  config.weights.power_of_two = true;  // scales stay
  return config;
}

/// An error that is least about halfway between the two integers of each weight, and whose
/// gradient grows 5 times as fast from there as that of the first pressure, 400.
TEST(LearnedParameters, AreDecidedAgainstErrorsThatHoldThemBetweenIntegers) {
  const SimulatedGraph simulated = simulated_with(product(), four_bits());
  const SamplesInMemory data({{"x", Random(2).tensor({16, kInputs})}});
  const QuantTable table =
      calibrate_sequentially(simulated, data, Toolkit::builtin().calibrators);
  const FloatNetwork network(simulated);
  const Block block{
      .nodes = network.graph().topological_order(), .sources = {}, .results = {}, .layers = 1};
  LearnedParameters learned(network, block, table, 1);
  ASSERT_EQ(learned.constants().size(), 1U);
  const SharedArray<float>& scales = table.at("w").params.scale;
  ASSERT_EQ(scales.size(), static_cast<std::size_t>(kOutputs));

  constexpr float kSteepness = 2000;
  constexpr std::size_t kSteps = 2000;
  std::vector<Tensor> soft{network.constant(learned.constants()[0], table)};
  for (std::size_t step = 0; step < kSteps; ++step) {
    const double progress = kDecidedAt * static_cast<double>(step) / kSteps;
    learned.express({progress, false}, soft);
    Tensor gradient = soft[0];
    const auto elements = gradient.mutable_view<float>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const float scale = scales[i % kOutputs];
      const float integer = elements[i] / scale;
      elements[i] = kSteepness * (integer - std::floor(integer) - 0.45F) / scale;
    }
    const std::vector<Gradients> gradients{{gradient}};
    learned.step({progress, false}, gradients, 1);
  }
  learned.express({kDecidedAt, false}, soft);
  std::vector<Tensor> decided = soft;
  learned.express({kDecidedAt, true}, decided);
  EXPECT_EQ(soft[0].to_float(), decided[0].to_float());
}

}  // namespace
}  // namespace tare::test
