// What the best effort may leave in float.
#include "tare/config.h"
#include "tare/quantize.h"

#include "support/config.h"
#include "support/conv_chain.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"

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
  write_bytes(path("npu.yaml"), faster_on_integers("1.2", "0.01"));
  ConvChain network;
  network.add_layers(4);
  const SamplesInMemory data({{"x", network.x}});
  const Config config = config_with(
      {"target=" + path("npu.yaml").string(), "processor=avx2", "accuracy.effort=best"});
  const QuantizeResult result = quantize(network.graph, data, config, Toolkit::builtin(), {});
  EXPECT_FALSE(result.simulated.regions.empty());
  EXPECT_FALSE(result.float_nodes.empty());  // and is as exact as the rest of the time allows
}

}  // namespace
}  // namespace tare::test
