#include "tare/execute.h"

#include "support/team.h"
#include "support/unlike_channels.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Squared error of the results on all samples.
double squared_error(const Graph& exact, const Graph& candidate, const Dataset& data) {
  double sum = 0;
  for (std::size_t sample = 0; sample < data.size(); ++sample) {
    const std::vector<Tensor> inputs{data.read("x", sample, 1)};
    const std::vector<float> a = Executable(exact).run(inputs)[0].to_float();
    const std::vector<float> b = Executable(candidate).run(inputs)[0].to_float();
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    }
  }
  return sum;
}

/// The most that each channel of a value is on the first samples.
std::vector<float> reaches(const Graph& graph, const char* name, const Dataset& data,
                           std::size_t samples) {
  ExecuteOptions options;
  options.observe = {graph.find_value(name).value()};
  const Executable executable(graph, options);
  const auto channels = static_cast<std::size_t>(graph.type(options.observe[0]).shape[1]);
  std::vector<float> result(channels);
  Executable::Workspace workspace(executable);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::vector<Tensor> inputs{data.read("x", sample, 1)};
    executable.run(workspace, inputs, [&](std::size_t, const TensorView& view) {
      const std::vector<float> values = view.tensor().to_float();
      const std::size_t each = values.size() / channels;
      for (std::size_t i = 0; i < values.size(); ++i) {
        result[i / each] = std::max(result[i / each], values[i]);
      }
    });
  }
  return result;
}

/// Samples that factors come from.
constexpr std::size_t kFitting = UnlikeChannels::kSamples / 4;

/// The largest part of its row, one for each result, that a channel's weights are.
std::vector<float> shares_of_rows(const Tensor& weights, std::size_t channels) {
  const auto values = weights.view<float>();
  std::vector<float> result(channels);
  for (std::size_t row = 0; row < values.size() / channels; ++row) {
    float largest = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      largest = std::max(largest, std::abs(values[row * channels + c]));
    }
    for (std::size_t c = 0; c < channels; ++c) {
      result[c] = std::max(result[c], std::abs(values[row * channels + c]) / largest);
    }
  }
  return result;
}

/// Of the largest one.
std::vector<float> shares(std::vector<float> reached) {
  const float largest = *std::max_element(reached.begin(), reached.end());
  for (float& reach : reached) {
    reach /= largest;
  }
  return reached;
}

/// What channels that need this much of the value's range are divided by where all their
/// weights have this much of those of a row.
std::vector<float> balanced(const std::vector<float>& ranges,
                            const std::vector<float>& weights) {
  std::vector<float> result;
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    result.push_back(std::sqrt(ranges[c] / weights[c]));
  }
  return result;
}

void expect_near(const ChannelFactors& factors, const std::vector<float>& expected) {
  ASSERT_EQ(factors.size(), 1U);
  const std::vector<float>& found = factors.at(UnlikeChannels::kFirst);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t c = 0; c < expected.size(); ++c) {
    EXPECT_NEAR(found[c] / expected[c], 1, 1e-6);  // some roundings of floats
  }
}

TEST(EqualizationFactors,
     GiveChannelsAndWeightsTheSamePartOfTheirRangesOnAQuarterOfFewSamples) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  const std::vector<float> ranges =
      shares(reaches(network.graph, "Relu", network.data, kFitting));
  const Tensor& weights = *network.graph.constant(*network.graph.find_value("w2"));
  expect_near(network.factors(),
              balanced(ranges, shares_of_rows(weights, UnlikeChannels::kChannels)));
}

/// A depthwise layer in place of the second one.
UnlikeChannels with_depthwise_layer() {
  UnlikeChannels network(0x1p-4F, 1);
  Graph& graph = network.graph;
  const std::int64_t channels = UnlikeChannels::kChannels;
  std::vector<float> weights;
  for (std::int64_t c = 0; c < channels; ++c) {
    weights.push_back(c % 2 == 1 ? 0x1p4F : 0x1p-1F);
  }
  const ValueId w =
      graph.add_constant("depthwise", Tensor::of<float>({channels, 1, 1, 1}, weights));
  graph.set_outputs({add(graph, "Conv", {*graph.find_value("Relu"), w}, {1, channels, 6, 6},
                         {{"group", channels}})});
  graph.erase_unused();
  return network;
}

// Each channel's weights have a scale of their own, which takes whatever the channel is divided
// by.
TEST(EqualizationFactors, InFrontOfADepthwiseLayerAreThreeQuartersOfTheLogarithmsOfRanges) {
  const UnlikeChannels network = with_depthwise_layer();
  std::vector<float> expected = shares(reaches(network.graph, "Relu", network.data, kFitting));
  for (float& factor : expected) {
    factor = std::pow(factor, 0.75F);
  }
  expect_near(network.factors(), expected);
}

TEST(EqualizationFactors, InFrontOfADepthwiseLayerCountItsWeightsWhereTheseHaveOneScale) {
  const UnlikeChannels network = with_depthwise_layer();
  Config config = UnlikeChannels::config();
  config.weights.granularity = Granularity::kPerTensor;
  const Tensor& weights = *network.graph.constant(*network.graph.find_value("depthwise"));
  expect_near(network.factors(config),
              balanced(shares(reaches(network.graph, "Relu", network.data, kFitting)),
                       shares_of_rows(weights, UnlikeChannels::kChannels)));
}

TEST(EqualizationFactors, BlowNoChannelUpMoreThanTheFloorsAllow) {
  const UnlikeChannels network(0x1p-12F, 0x1p12F);
  const std::vector<float> first = network.factors().at(UnlikeChannels::kFirst);
  const Tensor& weights = *network.graph.constant(*network.graph.find_value("w2"));
  const std::vector<float> parts = shares_of_rows(weights, UnlikeChannels::kChannels);
  for (std::size_t c = 0; c < first.size(); ++c) {
    // The range of every other channel is below the floor, the weights of the others are.
    const float expected = c % 2 == 1 ? std::sqrt(0x1p-6F / parts[c]) : std::sqrt(0x1p6F);
    EXPECT_NEAR(first[c] / expected, 1, c % 2 == 1 ? 1e-6 : 0.1);  // ranges differ by some %
  }
}

TEST(EqualizationFactors, OfDeadChannelsAreOne) {
  const UnlikeChannels network(0, 1);
  const ChannelFactors factors = network.factors();
  for (const auto& [name, values] : factors) {
    for (std::size_t c = 1; c < values.size(); c += 2) {
      EXPECT_EQ(values[c], 1);
    }
  }
}

// Half of the channels reach 1/16 of the others and count as much. Their rounding errors, 16
// times as large in the result, are as large as the others' once they reach as far; likewise
// those of the second layer's weights. In squares that is (1 + 256) / 2, 128 times less.
// Weights of like size may need steps twice as wide, so that neighbours stay within 128, and
// then err 4 times as much.
TEST(EqualizationFactors, LowerTheErrorAsFarAsTheChannelsRoundingGoes) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  std::vector<float> factors = network.factors().at(UnlikeChannels::kFirst);
  std::sort(factors.begin(), factors.end());  // those of every other channel, then the others'
  const double wider = static_cast<double>(factors.back() / factors[factors.size() / 2]);
  Config config = UnlikeChannels::config();
  const double with =
      squared_error(network.graph, network.quantized(config).integer, network.data);
  config.equalization = false;
  const double without =
      squared_error(network.graph, network.quantized(config).integer, network.data);
  EXPECT_GT(without, 128.0 / (wider * wider) / 4 * with);
}

// The channels that reach less count less, too: their rounding does not matter, but larger
// values of theirs meet the rounding of the second layer's weights.
TEST(EqualizationFactors, AreNoneWhereTheNetworkErrsLessWithout) {
  const UnlikeChannels network(0x1p-4F, 0x1p-2F);
  const QuantizeResult result = network.quantized(UnlikeChannels::config());
  EXPECT_TRUE(result.factors.empty());

  const Tensor& weights = *network.graph.constant(*network.graph.find_value("w2"));
  const std::vector<float> possible =
      balanced(shares(reaches(network.graph, "Relu", network.data, kFitting)),
               shares_of_rows(weights, UnlikeChannels::kChannels));
  UnlikeChannels equal = network;
  equal.graph = equalize(network.graph, {{UnlikeChannels::kFirst, possible}});
  Config config = UnlikeChannels::config();
  config.equalization = false;
  EXPECT_GT(squared_error(network.graph, equal.quantized(config).integer, network.data),
            0.8 * squared_error(network.graph, result.integer, network.data));
}

// With 2 and 4 processes each half of them tries one of the networks, with 3 all try both.
TEST(EqualizationFactors, AreTheSameInTeamsOfAnySize) {
  for (const float weight : {0x1p4F, 0x1p-2F}) {  // which are kept, and which are not
    const UnlikeChannels network(0x1p-4F, weight);
    const ChannelFactors alone = network.quantized(UnlikeChannels::config()).factors;
    EXPECT_EQ(alone.empty(), weight < 1);
    for (const int count : {2, 3, 4}) {
      for (const ChannelFactors& shared : by_team(count, [&](Member& member) {
             return network.quantized(UnlikeChannels::config(), {.communicator = &member})
                 .factors;
           })) {
        EXPECT_EQ(shared, alone);
      }
    }
  }
}

// Divided, a channel would be cut elsewhere than in the network, which samples need not show.
TEST(EqualizationFactors, AreNoneBesideAClipThatNoSampleReaches) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F, 1, 128.0F);
  EXPECT_TRUE(network.factors().empty());
}

// All channels reach as far, but half of them only on later samples: blown up, they would leave
// less of the range to the others. The samples that factors come of do not show it.
TEST(EqualizationFactors, AreNoneWhereOtherSamplesGoFurther) {
  UnlikeChannels network(1, 1);
  Tensor samples = network.data.read("x", 0, UnlikeChannels::kSamples);
  const auto values = samples.mutable_view<float>();
  const std::size_t elements = 4 * 6 * 6;
  for (std::size_t i = 0; i < kFitting * elements; ++i) {
    values[i] /= values[i] < 0 ? 64.0F : 1.0F;  // what every other channel is made of
  }
  network.data = SamplesInMemory({{"x", samples}});
  EXPECT_TRUE(network.factors().empty());
}

TEST(EqualizationFactors, AreNoneForLikeChannels) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2}));
  const auto identity = [&] {
    return graph.add_constant(graph.unique_name("w"), Tensor::of<float>({2, 2}, {1, 0, 0, 1}));
  };
  const ValueId first = add(graph, "MatMul", {x, identity()}, {1, 2});
  graph.set_outputs({add(graph, "MatMul", {first, identity()}, {1, 2})});
  const SamplesInMemory data({{"x", Tensor::of<float>({2, 2}, {1, -1, -1, 1})}});
  EXPECT_TRUE(equalization_factors(graph, data, UnlikeChannels::config(),
                                   read_target("ort-cpu"), Toolkit::builtin().patterns,
                                   Toolkit::builtin().calibrators)
                  .empty());
}

// Probabilities of a single class are 1, with error or without.
TEST(EqualizationFactors, AreEvaluatedOnTheScoresBelowProbabilitiesWhateverMovesThese) {
  UnlikeChannels network(0x1p-4F, 0x1p4F);
  const ChannelFactors expected = network.factors();
  ASSERT_FALSE(expected.empty());
  Graph& graph = network.graph;
  const auto shaped = [&](ValueId value, const Shape& shape) {
    const ValueId extents = graph.add_constant(
        graph.unique_name("shape"),
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(shape.size())}, shape));
    return add(graph, "Reshape", {value, extents}, shape);
  };
  const ValueId scores = shaped(graph.outputs()[0], {144, 1});
  const ValueId probabilities =
      add(graph, "Softmax", {scores}, {144, 1}, {{"axis", std::int64_t{1}}});
  graph.set_outputs({shaped(probabilities, {1, 144})});
  EXPECT_EQ(network.factors(), expected);
}

TEST(EqualizationFactors, DoNotDependOnThreads) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  const auto factors = [&](int threads) {
    return equalization_factors(network.graph, network.data, UnlikeChannels::config(),
                                read_target("ort-cpu"), Toolkit::builtin().patterns,
                                Toolkit::builtin().calibrators, {.threads = threads});
  };
  const ChannelFactors one = factors(1);
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(factors(3), one);
}

TEST(EqualizationFactors, AreNoneWhereTheConfigurationSaysNone) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  Config config = UnlikeChannels::config();
  config.equalization = false;
  const QuantizeResult result = network.quantized(config);
  EXPECT_TRUE(result.factors.empty());
  EXPECT_EQ(result.simulated.source, result.prepared);
}

TEST(EqualizationFactors, AreNoneForALayerOfWhichTheConfigurationSaysNone) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  for (const std::string layer : {"Conv", "Conv_1"}) {
    Config config = UnlikeChannels::config();
    LayerRule rule;
    rule.name = layer;
    rule.equalization = false;
    config.layers = {rule};
    EXPECT_TRUE(network.factors(config).empty()) << "either side keeps the channels: " << layer;
    config.layers[0].name = "other";
    EXPECT_FALSE(network.factors(config).empty());
  }
}

// The range is one of real values, which channels that are divided have no more.
TEST(EqualizationFactors, LeaveAloneWhatHasARangeOfTheUsers) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  Config config = UnlikeChannels::config();
  LayerRule rule;
  rule.op = "Relu";
  rule.activations.calibrator = {.name = "fixed", .options = {{"low", 0}, {"high", 4}}};
  config.layers = {rule};
  EXPECT_TRUE(network.factors(config).empty());
}

TEST(EqualizationFactors, AreFoundForBatchesOfMoreSamplesThanAreLookedAt) {
  const UnlikeChannels single(0x1p-4F, 0x1p4F);
  const UnlikeChannels batches(0x1p-4F, 0x1p4F, 40);
  ASSERT_FALSE(batches.factors().empty());
  EXPECT_EQ(batches.factors().begin()->first, single.factors().begin()->first);
}

// The trial is in real values, which no accumulator wraps.
TEST(EqualizationFactors, AreTheSameForNarrowAccumulators) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  Config config = UnlikeChannels::config();
  config.accumulator = {.bits = 14, .overflow = Overflow::kSaturate};
  EXPECT_EQ(network.factors(config), network.factors());
}

TEST(EqualizationFactors, AreNoneInTheIndependentSchedule) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  Config config = UnlikeChannels::config();
  config.schedule = Schedule::kIndependent;
  EXPECT_TRUE(network.quantized(config).factors.empty());
}

}  // namespace
}  // namespace tare::test
