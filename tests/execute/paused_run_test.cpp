#include "execute/run/paused_run.h"

#include "tare/execute.h"
#include "tare/graph.h"

#include "support/graphs.h"
#include "support/random/random_network.h"
#include "support/tensors.h"

#include <optional>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<Tensor> random_inputs(Random& random) {
  return {random.tensor({1, 5, 8, 8}), random.tensor({1, 5, 8, 8})};
}

TEST(PausedRun, GivesForInputsInAnyOrderWhatWholeRunsGive) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Executable executable(random_network(random, 30));
    const std::vector<Tensor> usual = random_inputs(random);
    PausedRun paused(executable, usual);
    std::optional<Executable::Workspace> workspace;
    for (int i = 0; i < 6; ++i) {
      std::vector<Tensor> inputs = random_inputs(random);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (random.coin()) {
          inputs[k] = usual[k];
        }
      }
      EXPECT_EQ(paused.results(executable, workspace, inputs), executable.run(inputs)) << seed;
    }
  }
}

TEST(PausedRun, GivesWhatExchangedConstantsGive) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Graph graph = random_network(random, 30);
    const Executable executable(graph);
    const std::vector<Tensor> inputs = random_inputs(random);
    PausedRun paused(executable, inputs);
    for (const ValueId value : graph.values()) {
      if (graph.constant(value) == nullptr || graph.users(value).empty()) {
        continue;
      }
      const ValueId other = graph.add_constant(graph.unique_name("other"),
                                               random.tensor(graph.type(value).shape));
      graph.replace_uses(value, other);
      const Exchange exchange{value, other};
      const Executable branch = executable.exchanged(graph, {&exchange, 1});
      std::optional<Executable::Workspace> workspace;
      EXPECT_EQ(paused.results(branch, workspace, inputs), branch.run(inputs)) << seed;
      graph.replace_uses(other, value);
      graph.erase(other);
    }
  }
}

TEST(PausedRun, DiffersFromTheFirstStepThatReadsWhatDiffers) {
  Graph graph;
  ValueId sum = graph.add_input("x", f32({4}));
  std::vector<ValueId> addends;
  for (int i = 0; i < 3; ++i) {
    addends.push_back(graph.add_input("addend" + std::to_string(i), f32({4})));
  }
  for (const ValueId addend : addends) {
    const NodeId node =
        graph.add_node("", "Pow", {sum, addend}, {{graph.unique_name("power"), f32({4})}});
    sum = graph.node(node).outputs[0];
  }
  graph.set_outputs({sum});
  const Executable executable(graph);
  const std::vector<Tensor> usual(4, ones({4}));
  const PausedRun paused(executable, usual);
  const auto first_difference = [&](std::size_t input) {
    std::vector<Tensor> inputs = usual;
    inputs[input] = Tensor(DType::kFloat32, {4});
    return paused.first_difference(executable, inputs);
  };
  EXPECT_EQ(first_difference(0), first_difference(1));
  EXPECT_LT(first_difference(1), first_difference(2));
  EXPECT_LT(first_difference(2), first_difference(3));
  EXPECT_LT(first_difference(3), paused.first_difference(executable, usual));
}

}  // namespace
}  // namespace tare::test
