// What the best effort may leave in float.
#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include "support/config.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Slowdown, OfTheBestEffortIsAShareOfWhatIntegersSave) {
  Config best;
  best.effort = Effort::kBest;
  Target target;
  target.slowdown = 0.05;
  target.processor = "avx2";
  EXPECT_DOUBLE_EQ(slowdown_of(best, target, 1.0), 0.6);
  EXPECT_DOUBLE_EQ(slowdown_of(best, target, 0.01), 0.05);  // no less than by default
  EXPECT_DOUBLE_EQ(slowdown_of(best, target), 0.3);
  EXPECT_DOUBLE_EQ(slowdown_of(Config(), target, 1.0), 0.05);
  best.slowdown = 0.2;
  EXPECT_DOUBLE_EQ(slowdown_of(best, target, 1.0), 0.2);
}

using BestEffort = InFolder;

/// Four convolutions that are a fifth faster on integers. Left in float they would be exact.
TEST_F(BestEffort, LeavesSomethingOnIntegersOfWhatGainsALittle) {
  write_bytes(path("npu.yaml"),
              "extends: ort-cpu\n"
              "processors:\n"
              "  - name: avx2\n"
              "    slowdown: 0.01\n"
              "    conversion: {call: 1}\n"
              "    costs: [{op: Conv, float: 1.2, integer: 1}]\n");
  Random random(1);
  Graph graph;
  ValueId x = graph.add_input("x", f32({1, 8, 6, 6}));
  for (int layer = 0; layer < 4; ++layer) {
    const ValueId weights =
        graph.add_constant("w" + std::to_string(layer), random.tensor({8, 8, 3, 3}));
    x = add(graph, "Conv", {x, weights}, {1, 8, 6, 6},
            {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  }
  graph.set_outputs({x});
  const SamplesInMemory data({{"x", random.tensor({16, 8, 6, 6})}});
  const Config config = config_with(
      {"target=" + path("npu.yaml").string(), "processor=avx2", "accuracy.effort=best"});
  const QuantizeResult result = quantize(graph, data, config, Toolkit::builtin(), {});
  EXPECT_FALSE(result.simulated.regions.empty());
  EXPECT_FALSE(result.float_nodes.empty());  // and is as exact as the rest of the time allows
}

}  // namespace
}  // namespace tare::test
