
#include "tare/execute.h"

#include "equalize/smoothquant_factors.h"
#include "equalize/smoothquant_sites.h"
#include "support/unlike_channels.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kWide = 16;
constexpr std::int64_t kPositions = 6;
const Shape kInside{1, kPositions, kWide};
const Shape kOutside{1, kPositions, 8};

/// A normalization read by three products, in a form of somebody's choice. Every eighth channel
/// has a gamma `outlier` times as large, and its weights are `weight` times as large.
struct Normalized {
  explicit Normalized(float outlier, float weight = 1) {
    Random random(11);
    gamma = random.tensor({kWide});
    beta = random.tensor({kWide});
    Tensor rows[3] = {random.tensor({kWide, 8}), random.tensor({kWide, 8}),
                      random.tensor({kWide, 8})};
    for (std::size_t c = 0; c < kWide; ++c) {
      gamma.mutable_view<float>()[c] = c % 2 == 0 ? 1.0F : -1.0F;
      if (c % 8 == 3) {
        gamma.mutable_view<float>()[c] *= outlier;
        for (Tensor& matrix : rows) {
          for (std::size_t k = 0; k < 8; ++k) {
            matrix.mutable_view<float>()[c * 8 + k] *= weight;
          }
        }
      }
    }
    x = graph.add_input("x", f32(kInside));
    value =
        add(graph, "LayerNormalization",
            {x, graph.add_constant("gamma", gamma), graph.add_constant("beta", beta)}, kInside);
    std::vector<ValueId> products;
    for (const Tensor& matrix : rows) {
      products.push_back(add(graph, "MatMul",
                             {value, graph.add_constant(graph.unique_name("w"), matrix)},
                             kOutside));
    }
    graph.set_outputs(products);
    data = SamplesInMemory({{"x", random.tensor({64, kPositions, kWide})}});
  }

  std::vector<Tensor> run(const Graph& version, std::size_t sample) const {
    const std::vector<Tensor> inputs{data.read("x", sample, 1)};
    return Executable(version).run(inputs);
  }
  ChannelFactors factors(const Config& config = UnlikeChannels::config()) const {
    return equalization_factors(graph, data, config, read_target(config.target),
                                Toolkit::builtin().patterns, Toolkit::builtin().calibrators);
  }
  /// Squared error of the quantized network on all samples.
  double error(const Config& config) const {
    const Graph integer = quantize(graph, data, config, Toolkit::builtin()).integer;
    double sum = 0;
    for (std::size_t sample = 0; sample < data.size(); ++sample) {
      const std::vector<Tensor> exact = run(graph, sample);
      const std::vector<Tensor> found = run(integer, sample);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const auto a = exact[i].view<float>();
        const std::vector<float> b = found[i].to_float();
        for (std::size_t k = 0; k < b.size(); ++k) {
          sum += std::pow(static_cast<double>(a[k]) - static_cast<double>(b[k]), 2);
        }
      }
    }
    return sum;
  }

  Graph graph;
  Tensor gamma;
  Tensor beta;
  ValueId x;
  ValueId value;
  SamplesInMemory data{{{"x", Tensor(DType::kFloat32, {1, 1})}}};
};

std::vector<std::string> sites(const std::string& text) {
  const Graph graph = parse("graph \"g\" opset 17 " + text);
  std::vector<std::string> names;
  for (const SmoothQuantSite& site : smoothquant_sites(graph)) {
    names.push_back(graph.name(site.value));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(SmoothQuantSites, IsFoundBehindANormalizationThatOnlyProductsRead) {
  EXPECT_EQ(sites(R"((%x : f32[1,3,2]) -> (%q, %k) {
    const %g : f32[2] = [1, 2]
    const %b : f32[2] = [3, 4]
    const %v : f32[2,2] = [1, 2, 3, 4]
    const %w : f32[2,1] = [1, 2]
    %n = LayerNormalization(%x, %g, %b) {axis=2} : f32[1,3,2]
    %q = MatMul(%n, %v) : f32[1,3,2]
    %k = MatMul(%n, %w) : f32[1,3,1]
  })"),
            Names{"n"});
}

TEST(SmoothQuantSites, IsFoundBehindGammaAndBetaOfTheirOwn) {
  EXPECT_EQ(sites(R"((%x : f32[1,3,2]) -> (%y) {
    const %g : f32[2] = [1, 2]
    const %b : f32[1,1,2] = [3, 4]
    const %w : f32[2,1] = [1, 2]
    %a = Mul(%x, %g) : f32[1,3,2]
    %n = Add(%b, %a) : f32[1,3,2]
    %y = MatMul(%n, %w) : f32[1,3,1]
  })"),
            Names{"n"});
}

TEST(SmoothQuantSites, IsFoundBetweenLayersOfRowsWithReluBetween) {
  EXPECT_EQ(sites(R"((%x : f32[1,3,2]) -> (%y) {
    const %v : f32[2,2] = [1, 2, 3, 4]
    const %b : f32[2] = [3, 4]
    const %w : f32[2,1] = [1, 2]
    %m = MatMul(%x, %v) : f32[1,3,2]
    %a = Add(%m, %b) : f32[1,3,2]
    %r = Relu(%a) : f32[1,3,2]
    %y = MatMul(%r, %w) : f32[1,3,1]
  })"),
            Names{"r"});
}

TEST(SmoothQuantSites, IsFoundWhereRowsAreMovedOnTheWay) {
  const auto moved = [](const std::string& nodes) {
    return sites(R"((%x : f32[1,2,3]) -> (%y) {
      const %g : f32[3] = [1, 2, 3]
      const %w : f32[3,1] = [1, 2, 3]
      const %first : i64[] = [0]
      const %rows : i64[2] = [2, 3]
      %n = LayerNormalization(%x, %g) : f32[1,2,3]
      )" + nodes +
                 "}");
  };
  EXPECT_EQ(moved("%m = Gather(%n, %first) {axis=1} : f32[1,3]\n"
                  "%y = Gemm(%m, %w) : f32[1,1]"),
            Names{"n"});
  EXPECT_EQ(moved("%m = Reshape(%n, %rows) : f32[2,3]\n%y = MatMul(%m, %w) : f32[2,1]"),
            Names{"n"});
  EXPECT_EQ(moved("%m = Transpose(%n) {perm=[1, 0, 2]} : f32[2,1,3]\n"
                  "%y = MatMul(%m, %w) : f32[2,1,1]"),
            Names{"n"});
  EXPECT_EQ(moved("%t = Transpose(%n) {perm=[2, 0, 1]} : f32[3,1,2]\n"
                  "%m = Reshape(%t, %rows) : f32[2,3]\n%y = MatMul(%m, %w) : f32[2,1]"),
            Names{})
      << "rows are taken apart";
}

TEST(SmoothQuantSites, IsLeftToChannelClassesBetweenMatrices) {
  EXPECT_EQ(sites(R"((%x : f32[3,2]) -> (%y) {
    const %v : f32[2,2] = [1, 2, 3, 4]
    const %w : f32[2,1] = [1, 2]
    %m = MatMul(%x, %v) : f32[3,2]
    %y = MatMul(%m, %w) : f32[3,1]
  })"),
            Names{});
}

TEST(SmoothQuantSites, IsNowhereWhereFactorsCouldBeSeen) {
  const std::string before = R"((%x : f32[1,2,2]) -> (%y, %z) {
    const %g : f32[2] = [1, 2]
    const %w : f32[2,2] = [1, 2, 3, 4]
    const %v : f32[2,2] = [1, 2, 3, 4]
    const %all : f32[2,2] = [1, 2, 3, 4]
  )";
  const auto all = [&](const std::string& nodes) { return sites(before + nodes + "}"); };
  const std::string normalized = "%n = LayerNormalization(%x, %g) : f32[1,2,2]\n";
  const std::string product = "%y = MatMul(%n, %w) : f32[1,2,2]\n";
  EXPECT_EQ(all(normalized + product + "%z = MatMul(%x, %v) : f32[1,2,2]"), Names{"n"});
  EXPECT_EQ(all(normalized + product + "%z = Add(%n, %x) : f32[1,2,2]"), Names{})
      << "a sum reads it";
  EXPECT_EQ(all(normalized + product + "%z = MatMul(%x, %w) : f32[1,2,2]"), Names{})
      << "something else has the same weights";
  EXPECT_EQ(all(normalized + product + "%z = Mul(%x, %g) : f32[1,2,2]"), Names{})
      << "something else has the same gamma";
  EXPECT_EQ(all(normalized + product + "%z = MatMul(%v, %n) : f32[1,2,2]"), Names{})
      << "it is the matrix of a product";
  EXPECT_EQ(all(normalized + product + "%z = MatMul(%n, %x) : f32[1,2,2]"), Names{})
      << "weights are computed";
  EXPECT_EQ(all("%n = LayerNormalization(%x, %all) {axis=1} : f32[1,2,2]\n" + product +
                "%z = MatMul(%x, %v) : f32[1,2,2]"),
            Names{})
      << "gamma is not a row";
  EXPECT_EQ(
      all("%n = Softmax(%x) : f32[1,2,2]\n" + product + "%z = MatMul(%x, %v) : f32[1,2,2]"),
      Names{})
      << "nothing takes factors out";
  const std::string as_output = R"((%x : f32[1,2,2]) -> (%n, %y) {
    const %g : f32[2] = [1, 2]
    const %w : f32[2,2] = [1, 2, 3, 4]
    %n = LayerNormalization(%x, %g) : f32[1,2,2]
    %y = MatMul(%n, %w) : f32[1,2,2]
  })";
  EXPECT_EQ(sites(as_output), Names{}) << "users see it";
}

// Powers of two do not round, whatever they are multiplied with here.
TEST(SmoothQuantSites, ByPowersOfTwoLeavesEveryBitOfTheResults) {
  for (const char* text : {R"((%x : f32[1,3,2]) -> (%y, %z) {
      const %g : f32[2] = [1.5, -2.25]
      const %b : f32[2] = [3, 0.1]
      const %w : f32[2,3] = [0.3, 2, 3, 4, 5, 6]
      const %v : f32[2,1] = [0.7, 0.6]
      %n = LayerNormalization(%x, %g, %b) : f32[1,3,2]
      %y = MatMul(%n, %w) : f32[1,3,3]
      %z = MatMul(%n, %v) : f32[1,3,1]
    })",
                           R"((%x : f32[1,3,2]) -> (%y) {
      const %g : f32[1,2] = [1.5, -2.25]
      const %b : f32[2] = [3, 0.1]
      const %w : f32[2,3] = [0.3, 2, 3, 4, 5, 6]
      %m = Mul(%g, %x) : f32[1,3,2]
      %n = Add(%m, %b) : f32[1,3,2]
      %y = MatMul(%n, %w) : f32[1,3,3]
    })",
                           R"((%x : f32[1,3,2]) -> (%y) {
      const %v : f32[2,2] = [0.3, 2, 3, 4]
      const %b : f32[2] = [3, 0.1]
      const %w : f32[2,3] = [0.3, 2, 3, 4, 5, 6]
      %m = MatMul(%x, %v) : f32[1,3,2]
      %a = Add(%b, %m) : f32[1,3,2]
      %n = LeakyRelu(%a) {alpha=0.25} : f32[1,3,2]
      %y = MatMul(%n, %w) : f32[1,3,3]
    })",
                           R"((%x : f32[3,2]) -> (%y) {
      const %g : f32[2] = [1.5, -2.25]
      const %w : f32[3,2] = [0.3, 2, 3, 4, 5, 6]
      const %b : f32[3] = [1, 2, 3]
      %n = LayerNormalization(%x, %g) : f32[3,2]
      %y = Gemm(%n, %w, %b) {transB=1} : f32[3,3]
    })"}) {
    const Graph graph = parse(std::string("graph \"g\" opset 17 ") + text);
    const ChannelFactors factors{{"n", {4, 0.125F}}};
    const Graph changed = equalize(graph, factors);
    EXPECT_NE(changed, graph) << text;
    EXPECT_EQ(factor_count(graph, *graph.find_value("n")), 2U) << text;
    Random random(3);
    const std::vector<Tensor> inputs{random.tensor(graph.type(graph.inputs()[0]).shape)};
    const std::vector<Tensor> expected = Executable(graph).run(inputs);
    const std::vector<Tensor> found = Executable(changed).run(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found[i].to_float(), expected[i].to_float()) << text;
    }
  }
}

TEST(SmoothQuantSites, PassesOverFactorsOfOtherCounts) {
  const Normalized network(64);
  EXPECT_EQ(equalize(network.graph, {{network.graph.name(network.value), {1, 2, 3}}}),
            network.graph);
}

TEST(SmoothQuantFactors, AreRootsOfTheQuotientOfMagnitudesAndOneForDeadChannels) {
  EXPECT_EQ(
      smoothquant_factors(std::vector<float>{16, 0, 3, 1}, std::vector<float>{4, 1, 0, 25}),
      (std::vector<float>{2, 1, 1, 0.2F}));
}

TEST(SmoothQuantFactors, AreThoseOfSmoothQuantOnAQuarterOfFewSamplesWithAllProductsTogether) {
  const Normalized network(64);
  std::vector<float> activations(kWide);
  for (std::size_t sample = 0; sample < 16; ++sample) {
    Graph shown = network.graph;
    shown.set_outputs({network.value});
    const Tensor observed = network.run(shown, sample)[0];
    for (std::size_t i = 0; i < observed.view<float>().size(); ++i) {
      activations[i % kWide] =
          std::max(activations[i % kWide], std::abs(observed.view<float>()[i]));
    }
  }
  std::vector<float> weights(kWide);
  for (const char* name : {"w", "w_1", "w_2"}) {
    const Tensor& matrix = *network.graph.constant(*network.graph.find_value(name));
    for (std::size_t i = 0; i < matrix.view<float>().size(); ++i) {
      weights[i / 8] = std::max(weights[i / 8], std::abs(matrix.view<float>()[i]));
    }
  }
  const ChannelFactors factors = network.factors();
  const std::vector<float>& found = factors.at(network.graph.name(network.value));
  ASSERT_EQ(found.size(), static_cast<std::size_t>(kWide));
  for (std::size_t c = 0; c < found.size(); ++c) {
    const double expected = std::pow(static_cast<double>(activations[c]), 0.5) /
                            std::pow(static_cast<double>(weights[c]), 0.5);
    // Two roots and a quotient in float32.
    EXPECT_NEAR(static_cast<double>(found[c]), expected, 2 * 0x1p-23 * expected) << c;
  }
}

// The two channels that reach 64 times as far leave the others steps of 64. Divided by 8 they
// leave steps of 8, and their own errors are multiplied by weights 8 times as large: of 16
// errors of 64^2 there are (2 * 8^2 + 14) of 8^2 left, a seventh. What rounding of weights adds
// stays, another seventh or two where neighbours have to stay within 128: less than half.
TEST(SmoothQuantFactors, LowerTheErrorOfANormalizationWithOutliers) {
  const Normalized network(64);
  Config config = UnlikeChannels::config();
  const double with = network.error(config);
  config.equalization = false;
  EXPECT_GT(network.error(config), 2 * with);
}

TEST(SmoothQuantFactors, AreNoneWhereChannelsAreAlike) {
  const Normalized network(1);
  const QuantizeResult result =
      quantize(network.graph, network.data, UnlikeChannels::config(), Toolkit::builtin());
  EXPECT_TRUE(result.factors.empty());
}

// Where large activations meet weights as large there is nothing to be gained.
TEST(SmoothQuantFactors, AreNoneWhereWeightsAreAsUnlikeAsActivations) {
  EXPECT_TRUE(Normalized(64, 64).factors().empty());
}

// A layer with weights of two bits adds an error of a third of its result, a thousand times as
// large as all the others: the trial sees no difference.
TEST(SmoothQuantFactors, AreNoneWhereTheNetworkDoesNotErrClearlyLess) {
  Normalized network(64);
  Graph& graph = network.graph;
  Tensor weights = Random(5).tensor({kWide, 8});
  for (float& weight : weights.mutable_view<float>()) {
    weight *= 1000;
  }
  const ValueId coarse =
      add(graph, "MatMul", {network.x, graph.add_constant("coarse", weights)}, kOutside);
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  const ChannelFactors possible = network.factors();
  ASSERT_FALSE(possible.empty());
  for (ValueId& output : outputs) {
    output = add(graph, "Add", {output, coarse}, kOutside);
  }
  graph.set_outputs(outputs);
  Config config = UnlikeChannels::config();
  LayerRule rule;
  rule.name = graph.node(*graph.producer(coarse)).name;
  rule.weights.bits = 2;
  config.layers = {rule};
  EXPECT_TRUE(network.factors(config).empty());

  config.equalization = false;
  const double without = network.error(config);
  graph = equalize(graph, possible);
  EXPECT_GT(network.error(config), 0.8 * without);
}

// Weights of unlike rows err, too, and activations make up for these as well.
TEST(SmoothQuantFactors, AreFoundWhereWeightsHaveTheOutliers) {
  EXPECT_FALSE(Normalized(1, 64).factors().empty());
}

TEST(SmoothQuantFactors, AreNoneWhereTheConfigurationSaysSo) {
  const Normalized network(64);
  ASSERT_FALSE(network.factors().empty());
  LayerRule rule;
  rule.equalization = false;
  for (const char* op : {"LayerNormalization", "MatMul"}) {
    Config config = UnlikeChannels::config();
    rule.op = op;
    config.layers = {rule};
    EXPECT_TRUE(network.factors(config).empty()) << op;
  }
  Config config = UnlikeChannels::config();
  config.equalization = false;
  EXPECT_TRUE(network.factors(config).empty());
}

TEST(SmoothQuantFactors, DoNotDependOnTheNumberOfThreads) {
  const Normalized network(64);
  const auto with_threads = [&](int threads) {
    return equalization_factors(network.graph, network.data, UnlikeChannels::config(),
                                read_target("ort-cpu"), Toolkit::builtin().patterns,
                                Toolkit::builtin().calibrators, {.threads = threads});
  };
  EXPECT_EQ(with_threads(1), with_threads(3));
}

}  // namespace
}  // namespace tare::test
