#include "tare/error.h"
#include "tare/execute.h"
#include "tare/quant_table.h"

#include "equalize/equalize.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// [1,4,4,4] -> Conv -> something -> Conv -> [1,4,4,4]
struct Between {
  std::string name;
  /// From the result `y` of the first layer and another value `x` of that shape, both free of
  /// anything else, what the second layer reads.
  std::function<ValueId(Graph&, ValueId y, ValueId x)> something;

  friend void PrintTo(const Between& between, std::ostream* out) { *out << between.name; }
};

const Shape kShape{1, 4, 4, 4};
constexpr std::int64_t kOne = 1;

ValueId constant(Graph& graph, const Shape& shape, float value) {
  const std::vector<float> values(static_cast<std::size_t>(element_count(shape)), value);
  return graph.add_constant(graph.unique_name("c"), Tensor::of<float>(shape, values));
}

ValueId integers(Graph& graph, const std::vector<std::int64_t>& values) {
  return graph.add_constant(
      graph.unique_name("i"),
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

ValueId layer(Graph& graph, ValueId x, ValueId weights) {
  return add(graph, "Conv", {x, weights}, kShape);
}

std::vector<Between> obstacles() {
  return {
      {"Sigmoid",
       [](Graph& graph, ValueId y, ValueId) { return add(graph, "Sigmoid", {y}, kShape); }},
      {"Softmax",
       [](Graph& graph, ValueId y, ValueId) {
         return add(graph, "Softmax", {y}, kShape, {{"axis", kOne}});
       }},
      {"MulOfActivations",
       [](Graph& graph, ValueId y, ValueId x) {
         return add(graph, "Mul", {y, x}, kShape);
       }},
      {"MulOfConstant",  // one that does not keep the shape
       [](Graph& graph, ValueId y, ValueId) {
         const ValueId mean = add(graph, "GlobalAveragePool", {y}, {1, 4, 1, 1});
         return add(graph, "Mul", {mean, constant(graph, kShape, 2)}, kShape);
       }},
      {"DivOfConstant",
       [](Graph& graph, ValueId y, ValueId) {
         return add(graph, "Div", {constant(graph, kShape, 2), y}, kShape);
       }},
      {"AddOfConstant",
       [](Graph& graph, ValueId y, ValueId) {
         return add(graph, "Add", {y, constant(graph, {1}, 2)}, kShape);
       }},
      {"AddOfOtherRank",  // whose columns are as many as there are channels
       [](Graph& graph, ValueId y, ValueId x) {
         const ValueId plain = add(graph, "Reshape", {x, integers(graph, {16, 4})}, {16, 4});
         const ValueId rows = add(
             graph, "Slice",
             {plain, integers(graph, {0}), integers(graph, {4}), integers(graph, {0})}, {4, 4});
         return add(graph, "Add", {y, rows}, kShape);
       }},
      {"ClipAtSix",
       [](Graph& graph, ValueId y, ValueId) {
         return add(graph, "Clip", {y, constant(graph, {}, 0), constant(graph, {}, 6)}, kShape);
       }},
      {"ClipBelowZero",
       [](Graph& graph, ValueId y, ValueId) {
         return add(graph, "Clip", {y, constant(graph, {}, -1)}, kShape);
       }},
      {"ClipAboveZero",
       [](Graph& graph, ValueId y, ValueId) {
         return add(graph, "Clip", {y, constant(graph, {}, 1)}, kShape);
       }},
      {"PadWithOne",
       [](Graph& graph, ValueId y, ValueId) {
         const ValueId cut =
             add(graph, "Slice",
                 {y, integers(graph, {0}), integers(graph, {3}), integers(graph, {2})},
                 {1, 4, 3, 4});
         return add(graph, "Pad",
                    {cut, integers(graph, {0, 0, 0, 0, 0, 0, 1, 0}), constant(graph, {}, 1)},
                    kShape);
       }},
      {"PReluWithComputedSlopes",
       [](Graph& graph, ValueId y, ValueId x) {
         return add(graph, "PRelu", {y, x}, kShape);
       }},
      {"ConcatWithConstant",
       [](Graph& graph, ValueId y, ValueId) {
         const ValueId cut =
             add(graph, "Slice",
                 {y, integers(graph, {0}), integers(graph, {3}), integers(graph, {2})},
                 {1, 4, 3, 4});
         return add(graph, "Concat", {cut, constant(graph, {1, 4, 1, 4}, 3)}, kShape,
                    {{"axis", std::int64_t{2}}});
       }},
      {"ResizeOfChannels",
       [](Graph& graph, ValueId y, ValueId) {
         const ValueId scales = graph.add_constant(graph.unique_name("c"),
                                                   Tensor::of<float>({4}, {1, 1.2F, 1, 1}));
         return add(graph, "Resize", {y, {}, scales}, kShape,
                    {{"mode", std::string("linear")}});
       }},
      {"MeanOverChannels",
       [](Graph& graph, ValueId y, ValueId) {
         const ValueId mean = add(graph, "ReduceMean", {y}, {1, 1, 4, 4},
                                  {{"axes", std::vector<std::int64_t>{1}}});
         return add(graph, "Expand", {mean, integers(graph, {1, 4, 1, 1})}, kShape);
       }},
  };
}

class Unscaled : public ::testing::TestWithParam<Between> {};

// All free channels are divided by 2, so that what a node does to them would show.
TEST_P(Unscaled, ChannelsKeepTheLayersBesideThemAsTheyAre) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32(kShape));
  Random random(1);
  const auto weights = [&](const char* name) {
    return graph.add_constant(name, random.tensor({4, 4, 1, 1}));
  };
  const ValueId first = layer(graph, x, weights("w1"));
  const ValueId other = layer(graph, x, weights("w2"));
  const ValueId between = GetParam().something(graph, first, other);
  graph.set_outputs({layer(graph, between, weights("w3"))});
  verify(graph);
  (void)Executable(graph);  // it is a network that runs
  ChannelFactors halves;
  for (const NodeId id : graph.nodes()) {
    const ValueId y = graph.node(id).outputs[0];
    if (graph.type(y).shape.size() > 1) {
      halves[graph.name(y)].assign(static_cast<std::size_t>(graph.type(y).shape[1]), 0.5F);
    }
  }
  const Graph equal = equalize(graph, halves);
  const Tensor* w1 = equal.constant(equal.find_value("w1").value());
  const Tensor* w3 = equal.constant(equal.find_value("w3").value());
  EXPECT_EQ(*w1, *graph.constant(graph.find_value("w1").value()));
  EXPECT_EQ(*w3, *graph.constant(graph.find_value("w3").value()));
}

INSTANTIATE_TEST_SUITE_P(Between, Unscaled, ::testing::ValuesIn(obstacles()),
                         [](const auto& info) { return info.param.name; });

/// Two layers with factors for the first, which `change` may forbid.
struct TwoLayers {
  Graph graph;
  ValueId x = graph.add_input("x", f32(kShape));
  ValueId w1 = constant(graph, {4, 4, 1, 1}, 3);
  ValueId w2 = constant(graph, {4, 4, 1, 1}, 5);
  ValueId first = layer(graph, x, w1);
  ValueId second = layer(graph, first, w2);

  Graph equalized() const {
    return equalize(graph, {{graph.name(first), {0.5F, 0.5F, 0.5F, 0.5F}},
                            {graph.name(x), {0.5F, 0.5F, 0.5F, 0.5F}},
                            {graph.name(second), {0.5F, 0.5F, 0.5F, 0.5F}}});
  }
};

TEST(UnscaledLayers, AreThoseWithWeightsThatAnotherLayerReads) {
  TwoLayers free;
  free.graph.set_outputs({free.second});
  EXPECT_NE(free.equalized(), free.graph);
  TwoLayers shared;
  shared.graph.set_outputs({shared.second, layer(shared.graph, shared.x, shared.w1)});
  EXPECT_EQ(shared.equalized(), shared.graph);
}

TEST(UnscaledLayers, AreThoseWhoseResultIsOneOfTheNetwork) {
  TwoLayers layers;
  layers.graph.set_outputs({layers.first, layers.second});
  EXPECT_EQ(layers.equalized(), layers.graph);
}

/// A Gemm with a bias of that shape behind a layer; two rows, two columns.
Graph equalized_gemm(const Shape& bias) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId first =
      add(graph, "Gemm", {x, constant(graph, {3, 2}, 3), constant(graph, bias, 7)}, {2, 2});
  graph.set_outputs({add(graph, "MatMul", {first, constant(graph, {2, 2}, 5)}, {2, 2})});
  Random random(2);
  const std::vector<Tensor> inputs{random.tensor({2, 3})};
  const Graph equal = equalize(graph, {{graph.name(first), {0.5F, 0.25F}}});
  EXPECT_EQ(Executable(equal).run(inputs), Executable(graph).run(inputs)) << to_string(bias);
  return equal == graph ? Graph{} : equal;
}

TEST(UnscaledLayers, AreThoseWithABiasThatIsNotOneOfEachChannel) {
  for (const Shape& row : {Shape{2}, Shape{1, 2}}) {
    EXPECT_NE(equalized_gemm(row), Graph{}) << to_string(row);
  }
  for (const Shape& other : {Shape{}, Shape{1}, Shape{2, 1}, Shape{2, 2}}) {
    EXPECT_EQ(equalized_gemm(other), Graph{}) << to_string(other);
  }
}

TEST(UnscaledLayers, AreThoseWithoutElements) {
  const auto equalized = [](std::int64_t batch, std::int64_t channels) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({batch, 3, 2, 2}));
    const ValueId first = add(graph, "Conv", {x, constant(graph, {channels, 3, 1, 1}, 3)},
                              {batch, channels, 2, 2});
    const ValueId flat = add(graph, "Flatten", {first}, {batch, channels * 4});
    graph.set_outputs(
        {add(graph, "Gemm", {flat, constant(graph, {channels * 4, 2}, 5)}, {batch, 2})});
    const std::vector<float> factors(static_cast<std::size_t>(channels), 0.5F);
    return equalize(graph, {{graph.name(first), factors}}) == graph;
  };
  EXPECT_FALSE(equalized(2, 3));
  EXPECT_TRUE(equalized(2, 0));
  EXPECT_FALSE(equalized(0, 3));  // its weights could be scaled all the same
}

TEST(UnscaledLayers, WithWeightsOfOtherChannelsAreAnError) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32(kShape));
  const ValueId first = layer(graph, x, constant(graph, {4, 4, 1, 1}, 3));
  const ValueId second = add(graph, "Conv", {first, constant(graph, {4, 3, 1, 1}, 5)}, kShape);
  graph.set_outputs({second});
  EXPECT_THROW((void)equalize(graph, {{graph.name(first), {0.5F, 0.5F, 0.5F, 0.5F}}}), Error);
}

}  // namespace
}  // namespace tare::test
