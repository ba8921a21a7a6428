#include "reconstruct/blocks.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Chains of convolutions, one of them with a way around it.
class Network {
 public:
  Network() : value_(graph_.add_input("x", f32(kShape))) {}

  ValueId convolve(ValueId x) {
    const ValueId w =
        graph_.add_constant(graph_.unique_name("w"), random_.tensor({2, 2, 1, 1}));
    return add(graph_, "Conv", {x, w}, kShape);
  }
  void layer() { value_ = add(graph_, "Relu", {convolve(value_)}, kShape); }
  void residual(int layers) {
    const ValueId around = value_;
    for (int i = 0; i < layers; ++i) {
      layer();
    }
    value_ = add(graph_, "Add", {value_, around}, kShape);
  }

  /// Layers of each block.
  std::vector<std::size_t> plan(Grain grain, std::size_t most = 8) {
    graph_.set_outputs({value_});
    std::vector<std::size_t> layers;
    std::size_t nodes = 0;
    for (const Block& block : plan_blocks(
             graph_, grain, most, [&](NodeId id) { return graph_.node(id).op == "Conv"; },
             [](ValueId) { return true; })) {
      layers.push_back(block.layers);
      nodes += block.nodes.size();
    }
    EXPECT_EQ(nodes, graph_.nodes().size());
    return layers;
  }

 private:
  static inline const Shape kShape{1, 2, 3, 3};
  Graph graph_;
  Random random_{1};
  ValueId value_;
};

using Layers = std::vector<std::size_t>;

TEST(PlanBlocks, KeepsResidualBlocksWhole) {
  Network network;
  network.layer();
  network.layer();
  network.residual(3);
  network.residual(2);
  network.layer();
  EXPECT_EQ(network.plan(Grain::kBlock), (Layers{2, 3, 2, 1}));
}

TEST(PlanBlocks, PutsTwoLayersOfAChainTogether) {
  Network network;
  for (int i = 0; i < 5; ++i) {
    network.layer();
  }
  EXPECT_EQ(network.plan(Grain::kBlock), (Layers{2, 2, 1}));
}

TEST(PlanBlocks, CutsWhatIsTooLongLayerByLayer) {
  Network network;
  network.layer();
  network.layer();
  network.residual(5);
  EXPECT_EQ(network.plan(Grain::kBlock, 4), (Layers{2, 1, 1, 1, 1, 1}));
}

TEST(PlanBlocks, HaveOneLayerEachOfLayers) {
  Network network;
  network.layer();
  network.residual(2);
  network.layer();
  EXPECT_EQ(network.plan(Grain::kLayer), (Layers{1, 1, 1, 1}));
}

/// What a block reads is what those before it gave, or passed on.
TEST(PlanBlocks, PassOnWhatLaterOnesRead) {
  Graph graph;
  Random random(1);
  const Shape shape{1, 2, 3, 3};
  const ValueId x = graph.add_input("x", f32(shape));
  const auto convolve = [&](ValueId value) {
    const ValueId w = graph.add_constant(graph.unique_name("w"), random.tensor({2, 2, 1, 1}));
    return add(graph, "Conv", {value, w}, shape);
  };
  const ValueId first = convolve(x);
  const ValueId second = convolve(first);
  const ValueId third = convolve(second);
  graph.set_outputs({add(graph, "Add", {first, third}, shape), second});
  const auto blocks = plan_blocks(
      graph, Grain::kLayer, 8, [&](NodeId id) { return graph.node(id).op == "Conv"; },
      [](ValueId) { return true; });
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[1].sources, std::vector{first});
  EXPECT_EQ(blocks[1].results, (std::vector{first, second}));
  EXPECT_EQ(blocks[2].sources, blocks[1].results);
}

}  // namespace
}  // namespace tare::test
