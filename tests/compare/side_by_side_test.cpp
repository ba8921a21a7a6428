#include "compare/side_by_side.h"

#include "compare/compared.h"
#include "compare/layers.h"
#include "lower/conversions.h"
#include "support/config.h"

#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

// Otherwise the weights of large networks would be in memory twice as real values.
TEST(SideBySide, ExpressesWeightsOnceForTheNetworkAndItsLayersAlone) {
  const Compared digits(test_models()[0], config_with({"weights.block=16"}));
  const Graph& integer = digits.result.integer;
  const SideBySide graphs = put_side_by_side(
      digits.real(), {}, integer, find_layers(digits.result.simulated.source, integer));
  std::map<const std::byte*, int> expressed;
  for (const NodeId id : graphs.graph.nodes()) {
    const Node& node = graphs.graph.node(id);
    const Tensor* const weights =
        node.op == "Dequantize" ? graphs.graph.constant(node.inputs[0]) : nullptr;
    if (weights != nullptr) {
      ++expressed[weights->data()];
    }
  }
  EXPECT_FALSE(expressed.empty());
  for (const auto& [weights, times] : expressed) {
    EXPECT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace tare::test
