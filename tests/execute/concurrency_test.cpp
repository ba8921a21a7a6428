#include "tare/execute.h"

#include "base/parallel.h"
#include "support/random/random_network.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Executable, GivesTheSameBytesOnAnyNumberOfThreads) {
  Random random(1);
  const Graph graph = random_network(random, 40);
  const Executable executable(graph);
  std::vector<std::vector<Tensor>> inputs(64);
  std::vector<std::vector<Tensor>> expected;
  for (auto& sample : inputs) {
    sample = random_inputs(graph, random);
    expected.push_back(executable.run(sample));
  }
  for (const int threads : {1, 2, 5}) {
    std::vector<Executable::Workspace> workspaces;
    for (int i = 0; i < threads; ++i) {
      workspaces.emplace_back(executable);
    }
    std::vector<std::vector<Tensor>> results(inputs.size());
    parallel_for(inputs.size(), threads, [&](std::size_t worker, std::size_t i) {
      results[i] = executable.run(workspaces[worker], inputs[i]);
    });
    EXPECT_EQ(results, expected) << threads << " threads";
  }
}

}  // namespace
}  // namespace tare::test
