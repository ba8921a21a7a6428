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

TEST(EqualizationFactors, AreSharesOfTheRangeToThePowerOfThreeQuartersOnAQuarterOfFewSamples) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  const std::vector<float> reached = reaches(network.graph, "Relu", network.data, kFitting);
  const float largest = *std::max_element(reached.begin(), reached.end());
  std::vector<float> expected;
  for (const float reach : reached) {
    expected.push_back(static_cast<float>(
        std::pow(static_cast<double>(reach) / static_cast<double>(largest), 0.75)));
  }
  EXPECT_EQ(network.factors(), (ChannelFactors{{UnlikeChannels::kFirst, expected}}));
}

TEST(EqualizationFactors, BlowNoChannelUpMoreThanTheFloorAllows) {
  const UnlikeChannels network(0x1p-12F, 0x1p12F);
  const ChannelFactors factors = network.factors();
  const std::vector<float>& first = factors.at(UnlikeChannels::kFirst);
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (c % 2 == 1) {
      EXPECT_EQ(first[c], static_cast<float>(std::pow(1.0 / 64, 0.75)));
    }
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
// times as large in the result, are 2 times as large once they reach 16^-0.25; likewise those
// of the second layer's weights. In squares that is (1 + 256) / (1 + 4), 51 times less. Weights
// of like size may need steps twice as wide, so that neighbours stay within 128, and then err 4
// times as much.
TEST(EqualizationFactors, LowerTheErrorAsFarAsTheChannelsRoundingGoes) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  Config config = UnlikeChannels::config();
  const double with =
      squared_error(network.graph, network.quantized(config).integer, network.data);
  config.equalization = false;
  const double without =
      squared_error(network.graph, network.quantized(config).integer, network.data);
  EXPECT_GT(without, 51.0 / 4 * with);
}

// The channels that reach less count less, too: their rounding does not matter, but larger
// values of theirs meet the rounding of the second layer's weights.
TEST(EqualizationFactors, AreNoneWhereTheNetworkErrsLessWithout) {
  const UnlikeChannels network(0x1p-4F, 0x1p-2F);
  const QuantizeResult result = network.quantized(UnlikeChannels::config());
  EXPECT_TRUE(result.factors.empty());

  const std::vector<float> reached = reaches(network.graph, "Relu", network.data, kFitting);
  const float largest = *std::max_element(reached.begin(), reached.end());
  std::vector<float> possible;
  for (const float reach : reached) {
    possible.push_back(std::pow(reach / largest, 0.75F));
  }
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
