// Factors for weights in blocks.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "equalize/equalize.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kInner = 96;
constexpr std::int64_t kLength = 8;
constexpr std::int64_t kSamples = 64;

/// What stands in each layer of a decoder behind attention: a row of constants, two products, a
/// gate and a third product.
struct GatedLayer {
  GatedLayer() {
    Random random{29};
    const Shape wide{1, kLength, kInner};
    const ValueId x = graph.add_input("x", f32({1, kLength, kWidth}));
    const ValueId n =
        add(graph, "Mul", {x, graph.add_constant("gain", random.tensor({kWidth}))},
            {1, kLength, kWidth});
    const auto product = [&](ValueId from, const char* name, Shape shape, const Shape& result) {
      return add(graph, "MatMul",
                 {from, graph.add_constant(name, random.tensor(std::move(shape)))}, result);
    };
    const ValueId gate = product(n, "gate", {kWidth, kInner}, wide);
    const ValueId up = product(n, "up", {kWidth, kInner}, wide);
    const ValueId bent = add(graph, "Sigmoid", {gate}, wide);
    const ValueId inner = add(graph, "Mul", {bent, up}, wide);
    graph.set_outputs({product(inner, "down", {kInner, kWidth}, {1, kLength, kWidth})});
    Tensor samples = random.tensor({kSamples, kLength, kWidth});
    // Two channels are far larger than all others, as in language models.
    for (std::int64_t i = 0; i < samples.size(); ++i) {
      const std::int64_t c = i % kWidth;
      samples.mutable_view<float>()[static_cast<std::size_t>(i)] *= c == 5 || c == 40 ? 30 : 1;
    }
    data = std::make_unique<SamplesInMemory>(std::map<std::string, Tensor>{{"x", samples}});
  }

  QuantizeResult quantized(bool equalization) const {
    Config config;
    config.recipe = Recipe::kNone;
    config.weights.bits = 4;
    config.weights.block = 32;
    config.rounding = Rounding::kNearest;
    config.equalization = equalization;
    LayerRule rule;
    rule.op = "MatMul";
    rule.keep_float = false;
    config.layers = {rule};
    return quantize(graph, *data, config, Toolkit::builtin());
  }

  double error(const Graph& other) const {
    const Executable exact(graph);
    const Executable rounded(other);
    double sum = 0;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const std::vector<Tensor> sample{data->read("x", i, 1)};
      const auto a = exact.run(sample)[0].to_float();
      const auto b = rounded.run(sample)[0].to_float();
      for (std::size_t k = 0; k < a.size(); ++k) {
        sum += std::pow(static_cast<double>(a[k]) - static_cast<double>(b[k]), 2);
      }
    }
    return sum;
  }

  Graph graph;
  std::unique_ptr<Dataset> data;
};

TEST(AwqFactors, MakeWeightsOfLargeChannelsFiner) {
  const GatedLayer layer;
  const QuantizeResult with = layer.quantized(true);
  ASSERT_EQ(with.factors.size(), 1U) << "channels behind the gate are alike";
  const std::vector<float>& factors = with.factors.begin()->second;
  for (std::size_t c = 0; c < factors.size(); ++c) {
    if (c != 5 && c != 40) {
      EXPECT_LT(factors[c], factors[5]) << c;
    }
  }
  const QuantizeResult without = layer.quantized(false);
  EXPECT_TRUE(without.factors.empty());
  // Nearly all of the error of the first products comes from two channels.
  EXPECT_LT(layer.error(with.integer), 0.6 * layer.error(without.integer));
}

/// Float networks compute the same whatever channels are divided by.
TEST(AwqFactors, PassThroughTheFactorOfAGateThatIsAProduct) {
  const GatedLayer layer;
  Random random{31};
  std::vector<float> factors;
  for (std::int64_t c = 0; c < kInner; ++c) {
    factors.push_back(std::exp2(random.real()));
  }
  const std::string inner = layer.graph.name(
      layer.graph.node(*layer.graph.producer(layer.graph.outputs()[0])).inputs[0]);
  const Graph divided = equalize(layer.graph, {{inner, factors}});
  EXPECT_NE(*divided.constant(*divided.find_value("up")),
            *layer.graph.constant(*layer.graph.find_value("up")));
  EXPECT_EQ(*divided.constant(*divided.find_value("gate")),
            *layer.graph.constant(*layer.graph.find_value("gate")));
  const std::vector<Tensor> sample{layer.data->read("x", 3, 1)};
  const auto a = Executable(layer.graph).run(sample)[0].to_float();
  const auto b = Executable(divided).run(sample)[0].to_float();
  double squares = 0;
  double differences = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(static_cast<double>(a[i]), 2);
    differences += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  EXPECT_LT(differences, 1e-11 * squares);  // float32, twice sums of a hundred products
}

}  // namespace
}  // namespace tare::test
