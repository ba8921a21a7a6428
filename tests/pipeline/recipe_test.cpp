// What a decoder is recognised by, and what its recipe does.
#include "pipeline/recipe.h"

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/report.h"

#include "support/files/digits.h"
#include "support/files/small_decoder.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Attention over embedded tokens, with scores for each; `is_causal` says that no token sees
/// those behind it.
Graph attention(bool is_causal) {
  constexpr std::int64_t kLength = 4;
  constexpr std::int64_t kWidth = 8;
  constexpr std::int64_t kTokens = 11;
  Random random{7};
  Graph graph;
  const ValueId ids = graph.add_input(
      "input_ids", {.dtype = DType::kInt64, .shape = {1, kLength}, .quant = {}, .point = {}});
  const ValueId x =
      add(graph, "Gather", {graph.add_constant("table", random.tensor({kTokens, kWidth})), ids},
          {1, kLength, kWidth});
  const ValueId turned = add(graph, "Transpose", {x}, {1, kWidth, kLength},
                             {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const ValueId sums = add(graph, "MatMul", {x, turned}, {1, kLength, kLength});
  // Small enough that each token looks at all that it sees.
  const ValueId factor = graph.add_constant("factor", Tensor::scalar(0.1F));
  ValueId products = add(graph, "Mul", {sums, factor}, {1, kLength, kLength});
  if (is_causal) {
    Tensor mask(DType::kFloat32, {kLength, kLength});
    for (std::int64_t i = 0; i < kLength * kLength; ++i) {
      mask.mutable_view<float>()[static_cast<std::size_t>(i)] =
          i % kLength > i / kLength ? -1e9F : 0;
    }
    products =
        add(graph, "Add", {products, graph.add_constant("mask", mask)}, {1, kLength, kLength});
  }
  const ValueId shares =
      add(graph, "Softmax", {products}, {1, kLength, kLength}, {{"axis", std::int64_t{-1}}});
  const ValueId mixed = add(graph, "MatMul", {shares, x}, {1, kLength, kWidth});
  graph.set_outputs({add(graph, "MatMul",
                         {mixed, graph.add_constant("head", random.tensor({kWidth, kTokens}))},
                         {1, kLength, kTokens})});
  return graph;
}

TEST(Decoders, AreKnownByScoresThatDoNotDependOnLaterTokens) {
  EXPECT_TRUE(is_decoder(attention(true)));
  EXPECT_FALSE(is_decoder(attention(false))) << "as masked language models are";
  EXPECT_FALSE(is_decoder(Digits().model));
  EXPECT_TRUE(is_decoder(SmallDecoder().model));
}

TEST(Decoders, AreNoneWhereMadeUpTokensCannotBeRun) {
  Graph graph = attention(true);
  // Three rows, and tokens up to the number of scores.
  Random random{9};
  const ValueId table = *graph.find_value("table");
  const NodeId lookup = graph.users(table)[0];
  graph.set_input(lookup, 0, graph.add_constant("short", random.tensor({3, 8})));
  EXPECT_FALSE(is_decoder(graph));
}

TEST(Decoders, AreKnownByTheirCacheWhereTheyTakeOneToken) {
  const std::map<std::string, std::int64_t> dims{{"batch", 1}, {"sequence", 1}, {"past", 5}};
  const auto file = SmallDecoder::file("decoder_with_past.onnx");
  EXPECT_TRUE(is_decoder(load_model(file, dims, nullptr)));
}

/// Numbers of bits of all weights that have become integers.
std::map<std::string, int> bits_of_weights(const QuantizeResult& result) {
  std::map<std::string, int> bits;
  for (const QuantPoint& point : result.simulated.points) {
    EXPECT_EQ(point.role, Role::kWeight) << point.name;
    bits.emplace(point.name, result.table.at(point.name).params.bits);
  }
  return bits;
}

TEST(DecoderRecipe, QuantizesWeightsOfProductsAloneAndTheHeadWithMoreBits) {
  const SmallDecoder decoder;
  const QuantizeResult result =
      quantize(decoder.model, *decoder.data, {}, Toolkit::builtin(), {.samples = 4});
  EXPECT_NE(result.recipe.find("decoder"), std::string::npos) << result.recipe;
  const auto bits = bits_of_weights(result);
  EXPECT_EQ(bits.size(), 15U);  // seven in each of two layers, and the head
  for (const auto& [name, own] : bits) {
    // A type that is used as a whole has no number of bits of its own.
    EXPECT_EQ(own, name == "head" ? 0 : 4) << name;
    EXPECT_EQ(result.table.at(name).params.block, 32) << name;
  }
}

TEST(DecoderRecipe, YieldsToTheConfiguration) {
  const SmallDecoder decoder;
  const auto quantized = [&](const Config& config) {
    return quantize(decoder.model, *decoder.data, config, Toolkit::builtin(), {.samples = 4});
  };
  Config config;
  config.weights.bits = 3;
  config.weights.block = 16;
  LayerRule rule;
  rule.name = "*v_proj";
  rule.weights.bits = 6;
  config.layers = {rule};
  const QuantizeResult result = quantized(config);
  for (const auto& [name, own] : bits_of_weights(result)) {
    EXPECT_EQ(own, name.ends_with(".v") ? 6 : 3) << name;
    EXPECT_EQ(result.table.at(name).params.block, 16) << name;
  }
  Config none;
  none.recipe = Recipe::kNone;
  EXPECT_TRUE(quantized(none).recipe.empty());
  Config everything;
  everything.objective = Objective::kCoverage;
  EXPECT_TRUE(quantized(everything).recipe.empty())
      << "what was asked for is more than weights";
  Config best;
  best.effort = Effort::kBest;
  EXPECT_FALSE(quantized(best).recipe.empty()) << "says nothing of the network";
  Config asked = everything;
  asked.recipe = Recipe::kDecoder;
  EXPECT_FALSE(quantized(asked).recipe.empty());
}

TEST(StoredEmbeddings, AreRowsOfIntegersOfOneScaleEach) {
  const SmallDecoder decoder;
  Config config;
  config.stores_embeddings = true;
  const QuantizeResult result =
      quantize(decoder.model, *decoder.data, config, Toolkit::builtin(), {.samples = 4});
  const Graph& graph = result.integer;
  const Tensor& integers = *graph.constant(*graph.find_value("embed_quantized"));
  const Tensor& scales = *graph.constant(*graph.find_value("embed_scale"));
  ASSERT_EQ(integers.dtype(), DType::kInt8);
  ASSERT_EQ(scales.shape(), (Shape{96, 1}));
  const Tensor& table = *result.prepared.constant(*result.prepared.find_value("embed"));
  const auto exact = table.view<float>();
  const auto steps = integers.to_float();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const float scale = scales.view<float>()[i / 64];
    // Half a step, and the rounding of three products in float32.
    EXPECT_LE(std::abs(exact[i] - scale * steps[i]), 0.50001F * scale) << i;
  }
  EXPECT_EQ(graph.constant(*graph.find_value("cosine_table"))->dtype(), DType::kFloat32)
      << "which places are looked up in, and not tokens";
}

double perplexity(const Graph& graph, const Dataset& data) {
  const TokenInterface tokens = *token_interface(graph);
  NextTokenLoss loss;
  run_dataset(graph, data, 1, 24, [&](std::size_t run, std::vector<Tensor> outputs) {
    loss.observe(outputs[tokens.logits], tokens_of(data.read("input_ids", run, 1), nullptr, 0),
                 {});
  });
  return *loss.perplexity();
}

/// Samples of texts that the decoder was not trained on, nor weights rounded for.
TEST(DecoderRecipe, LosesLessThanRoundingToNearest) {
  const SmallDecoder decoder;
  const auto increase = [&](Rounding rounding) {
    Config config;
    config.rounding = rounding;
    const QuantizeResult result =
        quantize(decoder.model, *decoder.data, config, Toolkit::builtin(), {.samples = 32});
    return perplexity(result.integer, *decoder.evaluation) /
               perplexity(result.prepared, *decoder.evaluation) -
           1;
  };
  const double rounded = increase(Rounding::kAuto);
  EXPECT_GT(rounded, 0);
  EXPECT_LT(rounded, 0.6 * increase(Rounding::kNearest));
}

}  // namespace
}  // namespace tare::test
