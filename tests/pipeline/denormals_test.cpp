// Networks some of whose weights are denormal.

#include "tare/config.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"

#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Two convolutions, some of whose weights are; operands large enough that their products
/// count.
Graph decayed_network() {
  Random random(3);
  Graph graph;
  ValueId value = graph.add_input("x", f32({1, 4, 6, 6}));
  for (const char* name : {"w0", "w1"}) {
    Tensor weights = random.tensor({4, 4, 3, 3});
    for (std::size_t i = 0; i < 40; ++i) {
      weights.mutable_view<float>()[i] = 1e-40F;
    }
    value = add(graph, "Conv", {value, graph.add_constant(name, weights)}, {1, 4, 6, 6},
                {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  }
  graph.set_outputs({value});
  return graph;
}

QuantizeResult quantized(int threads) {
  Random random(4);
  Tensor samples = random.tensor({24, 4, 6, 6});
  for (float& x : samples.mutable_view<float>()) {
    x *= 1e30F;
  }
  Config config;
  config.objective = Objective::kCoverage;
  return quantize(decayed_network(), SamplesInMemory({{"x", samples}}), config,
                  Toolkit::builtin(), {.threads = threads});
}

TEST(DenormalWeights, AreWarnedOfOnce) {
  const auto warnings = quantized(1).audit.warnings;
  const auto found = std::find_if(warnings.begin(), warnings.end(), [](const Warning& warning) {
    return warning.kind == "denormal_weights";
  });
  ASSERT_NE(found, warnings.end());
  EXPECT_TRUE(found->what.starts_with("80 of 288 are denormal")) << found->what;
  EXPECT_EQ(
      std::count_if(warnings.begin(), warnings.end(),
                    [](const Warning& warning) { return warning.kind == "denormal_weights"; }),
      1);
}

TEST(DenormalWeights, GiveTheSameFileForAnyNumberOfThreads) {
  const Graph one = quantized(1).integer;
  for (const int threads : {2, 3}) {
    EXPECT_EQ(quantized(threads).integer, one) << threads;
  }
}

}  // namespace
}  // namespace tare::test
