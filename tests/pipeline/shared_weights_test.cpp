// Networks in which several nodes read one constant or one value, and which give several
// results.

#include "tare/config.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const Shape kImage{1, 4, 6, 6};

/// Two layers with the same weights, one behind the other, and a third that reads what the
/// first does; all three results are results of the network.
Graph network(Random& random) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32(kImage));
  const ValueId w = graph.add_constant("w", random.tensor({4, 4, 3, 3}));
  const ValueId v = graph.add_constant("v", random.tensor({4, 4, 1, 1}));
  const Attributes padded{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const ValueId first =
      add(graph, "Relu", {add(graph, "Conv", {x, w}, kImage, padded)}, kImage);
  const ValueId second = add(graph, "Conv", {first, w}, kImage, padded);
  const ValueId third = add(graph, "Conv", {x, v}, kImage);
  graph.set_outputs({first, second, third});
  return graph;
}

class SharedWeights : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  SharedWeights() {
    Random random(GetParam());
    const Graph graph = network(random);
    data_.emplace(std::map<std::string, Tensor>{{"x", random.tensor({32, 4, 6, 6})}});
    Config config;
    config.objective = Objective::kCoverage;
    result_ = quantize(graph, *data_, config, Toolkit::builtin());
  }

  std::optional<SamplesInMemory> data_;
  QuantizeResult result_;
};

TEST_P(SharedWeights, AreStoredOnce) {
  std::set<ValueId> kernels;
  std::size_t products = 0;
  for (const NodeId id : result_.integer.nodes()) {
    const Node& node = result_.integer.node(id);
    if (node.op == "Conv") {
      ++products;
      kernels.insert(node.inputs[1]);
      EXPECT_EQ(result_.integer.type(node.inputs[1]).dtype, DType::kInt8);
    }
  }
  EXPECT_EQ(products, 3U);
  EXPECT_EQ(kernels.size(), 2U);
}

TEST_P(SharedWeights, ComputeOnIntegersWhatTheSimulationComputes) {
  const Executable simulated(tare::bind(result_.simulated, result_.table));
  const Executable integer(result_.integer);
  for (std::size_t i = 0; i < data_->size(); ++i) {
    const std::vector<Tensor> inputs{data_->read("x", i, 1)};
    EXPECT_EQ(integer.run(inputs), simulated.run(inputs)) << "sample " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AndSeveralResults, SharedWeights, ::testing::Range(0U, 5U));

}  // namespace
}  // namespace tare::test
