// How much slower a network may be by default depends on the error that it loses for that.
#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include "pipeline/slowdown.h"
#include "support/config.h"
#include "support/conv_chain.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class WorthwhileSlowdown : public InFolder {
 protected:
  /// For the target of that text, on the processor that has costs.
  QuantizeResult quantized(const ConvChain& network, const std::string& target,
                           std::vector<std::string> settings = {}) const {
    write_bytes(path("target.yaml"), target);
    settings.push_back("target=" + path("target.yaml").string());
    settings.push_back("processor=avx2");
    return quantize(network.graph, SamplesInMemory({{"x", network.x}}), config_with(settings),
                    Toolkit::builtin(), {});
  }
};

/// Weights that divide the first channel and change nothing else.
Tensor identity(std::int64_t size, float divisor) {
  constexpr std::int64_t kChannels = ConvChain::kChannels;
  Tensor weights(DType::kFloat32, {kChannels, kChannels, size, size});
  const std::int64_t center = size * size / 2;
  for (std::int64_t channel = 0; channel < kChannels; ++channel) {
    const std::int64_t index = channel * (kChannels + 1) * size * size + center;
    weights.mutable_view<float>()[static_cast<std::size_t>(index)] =
        channel == 0 ? 1 / divisor : 1;
  }
  return weights;
}

double time_of(const QuantizeResult& result) {
  return predicted_time(result.simulated, result.table, Toolkit::builtin().patterns)->quantized;
}

TEST_F(WorthwhileSlowdown, IsATenthForALayerThatCausesMostOfTheError) {
  const ConvChain network = with_sensitive_layer();
  const QuantizeResult result = quantized(network, twice_as_fast("0.01"));
  const QuantizeResult fastest =
      quantized(network, twice_as_fast("0.01"), {"accuracy.slowdown=0"});
  EXPECT_EQ(result.float_nodes.size(), 1);
  EXPECT_NEAR(time_of(result) / time_of(fastest), 1.1, 0.01);
}

TEST_F(WorthwhileSlowdown, IsThatOfTheTargetByCostsOfNoProcessor) {
  const std::string target =
      "extends: ort-cpu\n"
      "slowdown: 0.01\n"
      "conversion: {call: 1}\n"
      "operators: [{op: Conv, quantized_result: true, float: 2, integer: 1}]\n";
  EXPECT_TRUE(quantized(with_sensitive_layer(), target).float_nodes.empty());
}

TEST_F(WorthwhileSlowdown, IsNoMoreThanIsConfigured) {
  EXPECT_TRUE(
      quantized(with_sensitive_layer(), twice_as_fast("0.01"), {"accuracy.slowdown=0.05"})
          .float_nodes.empty());
}

/// Half of the samples show ranges. What these say of the error themselves does not count.
TEST_F(WorthwhileSlowdown, IsThatOfTheTargetWhereSamplesAreFew) {
  ConvChain network = with_sensitive_layer();
  EXPECT_FALSE(quantized(network, twice_as_fast("0.01")).float_nodes.empty());
  network.x = network.x.rows(0, ConvChain::kSamples - 1);
  EXPECT_TRUE(quantized(network, twice_as_fast("0.01")).float_nodes.empty());
}

/// Of ten layers with the same error one in float makes up for less than half a dB.
TEST_F(WorthwhileSlowdown, IsNotTakenWhereTheErrorHardlyFalls) {
  ConvChain network;
  network.add_layers(10);
  EXPECT_TRUE(quantized(network, twice_as_fast("0.01")).float_nodes.empty());
  EXPECT_FALSE(
      quantized(network, twice_as_fast("0.01"), {"accuracy.slowdown=0.11"}).float_nodes.empty())
      << "what is configured is spent";
}

/// With weights of 4 bits 20 dB are out of reach for a network that is to be a tenth faster
/// than float. Two layers in float are what integers save by a quarter.
TEST_F(WorthwhileSlowdown, IsMoreWherePoorResultsGetBetterWithoutGettingGood) {
  ConvChain network;
  network.add_layers(10);
  const QuantizeResult result =
      quantized(network, faster_on_integers("1.5", "0.01"), {"weights.bits=4"});
  EXPECT_GT(result.float_nodes.size(), 2);
}

TEST_F(WorthwhileSlowdown, IsAllSpentWithTheBestEffort) {
  ConvChain network;
  network.add_layers(10);
  EXPECT_FALSE(
      quantized(network, twice_as_fast("0.01"), {"accuracy.effort=best"}).float_nodes.empty());
}

/// Values are spread evenly and stay as they are, so rounding one leaves about 48 dB, and 43
/// where a channel has 1.7 times the range of the others. The first layer is a 26th of all.
TEST_F(WorthwhileSlowdown, IsThatOfTheTargetWhereResultsHave40Decibels) {
  constexpr float kWide = 1.7F;
  ConvChain network = with_wide_channel(kWide);
  network.add_layer(identity(1, kWide));
  network.add_layer(identity(5, 1));
  EXPECT_TRUE(quantized(network, twice_as_fast("0.01")).float_nodes.empty());
  EXPECT_FALSE(quantized(network, twice_as_fast("0.06")).float_nodes.empty());
}

/// Of eight channels one alone has values between the steps, until the first layer divides it.
TEST_F(WorthwhileSlowdown, IsNothingWhereResultsHave50Decibels) {
  constexpr float kNarrow = 0.9F;
  ConvChain network;
  const auto values = network.x.mutable_view<float>();
  const std::size_t channel = values.size() / (ConvChain::kSamples * ConvChain::kChannels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float step = static_cast<float>(i % 256) / 128 - 1;
    values[i] = i / channel % ConvChain::kChannels == 0 ? kNarrow * step : step;
  }
  network.add_layer(identity(1, kNarrow));
  network.add_layer(identity(5, 1));
  EXPECT_TRUE(quantized(network, twice_as_fast("0.06")).float_nodes.empty());
  EXPECT_FALSE(quantized(network, twice_as_fast("0.06"), {"accuracy.slowdown=0.06"})
                   .float_nodes.empty());
}

TEST(UsualSlowdown, IsAtLeast15PercentForADetector) {
  const Graph detector = parse(R"(graph "g" opset 17 (%x : f32[1,8,4]) -> (%all) {
    const %w : f32[4,4] = [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]
    %boxes = MatMul(%x, %w) : f32[1,8,4]
    %classes = MatMul(%x, %w) : f32[1,8,4]
    %scores = Sigmoid(%classes) : f32[1,8,4]
    %all = Concat(%boxes, %scores) {axis=2} : f32[1,8,8]
  })");
  Target target;
  target.slowdown = 0.06;
  EXPECT_DOUBLE_EQ(usual_slowdown({}, target, detector), 0.15);
  EXPECT_DOUBLE_EQ(usual_slowdown({}, target, with_sensitive_layer().graph), 0.06);
  target.slowdown = 0.2;
  EXPECT_DOUBLE_EQ(usual_slowdown({}, target, detector), 0.2);
  Config config;
  config.slowdown = 0.1;
  EXPECT_DOUBLE_EQ(usual_slowdown(config, target, detector), 0.1);
  config = {};
  config.effort = Effort::kFast;
  EXPECT_DOUBLE_EQ(usual_slowdown(config, target, detector), 0);
}

}  // namespace
}  // namespace tare::test
