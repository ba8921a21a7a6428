
#include "equalize/equalize.h"

#include "tare/execute.h"

#include "equalize/channel_classes.h"
#include "equalize/random_factors.h"
#include "equalize/random_layers.h"
#include "support/run.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<float> constant_of(const Graph& graph, const char* name) {
  return graph.constant(graph.find_value(name).value())->to_float();
}

TEST(Equalize, DividesTheWeightsOfOneLayerAndMultipliesThoseOfTheNext) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 3, 3}));
  const ValueId w1 =
      graph.add_constant("w1", Tensor::of<float>({3, 2, 1, 1}, {1, -2, 3, 0.7F, -5, 6}));
  const ValueId b1 = graph.add_constant("b1", Tensor::of<float>({3}, {7, -0.1F, 9}));
  const ValueId w2 =
      graph.add_constant("w2", Tensor::of<float>({2, 3, 1, 1}, {4, 0.3F, -6, 1, 2, -8}));
  const ValueId b2 = graph.add_constant("b2", Tensor::of<float>({2}, {3, 4}));
  const ValueId middle = add(graph, "Conv", {x, w1, b1}, {1, 3, 3, 3});
  const ValueId relu = add(graph, "Relu", {middle}, {1, 3, 3, 3});
  graph.set_outputs({add(graph, "Conv", {relu, w2, b2}, {1, 2, 3, 3})});

  const std::vector<float> s{0.3F, 1, 0.7F};
  const Graph equal = equalize(graph, {{graph.name(middle), s}});
  const auto from1 = constant_of(graph, "w1");
  const auto bias1 = constant_of(graph, "b1");
  const auto from2 = constant_of(graph, "w2");
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(constant_of(equal, "w1")[c * 2 + k], from1[c * 2 + k] / s[c]);
      EXPECT_EQ(constant_of(equal, "w2")[k * 3 + c], from2[k * 3 + c] * s[c]);
    }
    EXPECT_EQ(constant_of(equal, "b1")[c], bias1[c] / s[c]);
  }
  EXPECT_EQ(constant_of(equal, "b2"), constant_of(graph, "b2"));
}

TEST(Equalize, WithoutFactorsIsTheGraph) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Graph graph = RandomLayers(seed).network(12);
    EXPECT_EQ(equalize(graph, {}), graph) << seed;
  }
}

/// Operators that hand on a factor other than 1.
std::set<std::string> crossed(const Graph& graph, const ChannelFactors& factors) {
  const ChannelClasses classes(graph);
  std::set<std::size_t> scaled;
  for (const auto& [name, values] : factors) {
    const auto own = classes.of(*graph.find_value(name));
    for (std::size_t c = 0; c < own.size(); ++c) {
      if (own[c] && values[c] != 1) {
        scaled.insert(*own[c]);
      }
    }
  }
  std::set<std::string> result;
  for (const NodeId id : graph.nodes()) {
    const auto own = classes.of(graph.node(id).outputs[0]);
    if (std::any_of(own.begin(), own.end(),
                    [&](const auto& c) { return c && scaled.contains(*c); })) {
      result.insert(graph.node(id).op);
    }
  }
  return result;
}

// Powers of two change nothing but exponents, so not a bit of any result may differ.
TEST(Equalize, KeepsTheResultsOfRandomNetworksBitForBit) {
  std::set<std::string> ops;
  for (std::uint32_t seed = 0; seed < 600; ++seed) {
    Random random(seed);
    const Graph graph = RandomLayers(seed).network(12);
    const ChannelFactors factors = random_factors(graph, random);
    const Graph equal = equalize(graph, factors);
    verify(equal);
    const std::vector<Tensor> inputs{random.tensor(graph.type(graph.inputs()[0]).shape)};
    EXPECT_EQ(Executable(equal).run(inputs), Executable(graph).run(inputs)) << seed;
    ops.merge(crossed(graph, factors));
  }
  EXPECT_EQ(ops, (std::set<std::string>{"Add",       "AveragePool", "Clip",
                                        "Concat",    "Conv",        "ConvTranspose",
                                        "Flatten",   "Gemm",        "GlobalAveragePool",
                                        "LeakyRelu", "MaxPool",     "Mul",
                                        "PRelu",     "Pad",         "Relu",
                                        "Reshape",   "Resize",      "Slice",
                                        "Split",     "Sub"}));
}

Tensor product(const Tensor& a, const Tensor& b) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32(a.shape()));
  graph.set_outputs({add(graph, "Mul", {x, graph.add_constant("b", b)}, a.shape())});
  const std::vector<Tensor> inputs{a};
  return Executable(graph).run(inputs)[0];
}

/// Whether each value times its divisor is what it was, to the last bit.
void expect_divided(const Graph& graph, const ChannelFactors& factors, const Tensor& sample) {
  const std::map<std::string, Tensor> divided_by = divisors(graph, factors);
  const auto before = values_of(graph, {sample});
  const auto after = values_of(equalize(graph, factors), {sample});
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, value] : after) {
    const auto divisor = divided_by.find(name);
    EXPECT_EQ(divisor == divided_by.end() ? value : product(value, divisor->second),
              before.at(name))
        << name;
  }
}

TEST(Divisors, AreWhatEachValueOfRandomNetworksIsDividedBy) {
  std::size_t divided = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Graph graph = RandomLayers(seed).network(12);
    const ChannelFactors factors = random_factors(graph, random);
    expect_divided(graph, factors, random.tensor(graph.type(graph.inputs()[0]).shape));
    divided += divisors(graph, factors).size();
  }
  EXPECT_GT(divided, 200U);
}

TEST(Divisors, AreThoseOfRowsThatMatricesMultiplyToo) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[2,3,2]) -> (%y) {
    const %v : f32[2,2] = [1, 2, 3, 4]
    const %b : f32[2] = [3, 4]
    const %w : f32[2,1] = [1, 2]
    const %p : i64[2] = [6, 2]
    %m = MatMul(%x, %v) : f32[2,3,2]
    %a = Add(%m, %b) : f32[2,3,2]
    %r = Relu(%a) : f32[2,3,2]
    %s = Reshape(%r, %p) : f32[6,2]
    %y = MatMul(%s, %w) : f32[6,1]
  })");
  const ChannelFactors factors{{"r", {0.5F, 4}}};
  Random random(3);
  expect_divided(graph, factors, random.tensor({2, 3, 2}));
  const std::map<std::string, Tensor> found = divisors(graph, factors);
  for (const char* name : {"m", "a", "r", "s"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  EXPECT_EQ(found.size(), 4U);
}

}  // namespace
}  // namespace tare::test
