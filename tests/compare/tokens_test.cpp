// Losses of next tokens, and the metrics that are made of them.

#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/report.h"

#include "support/files/digits.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Tensor scores_of_tokens(const std::vector<std::vector<float>>& rows) {
  std::vector<float> all;
  for (const auto& row : rows) {
    all.insert(all.end(), row.begin(), row.end());
  }
  return Tensor::of<float>(
      {1, static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())},
      all);
}

/// -log of the share of one score, by the definition.
double plain_loss(const std::vector<float>& row, std::size_t token) {
  double sum = 0;
  for (const float score : row) {
    sum += std::exp(static_cast<double>(score));
  }
  return -std::log(std::exp(static_cast<double>(row[token])) / sum);
}

// A handful of exponentials in double.
constexpr double kRounding = 1e-12;

TEST(NextTokenLoss, IsTheMeanOverAllTokensBehindAnother) {
  const std::vector<std::vector<float>> rows{{1, 2, 3}, {0, -1, 0.5F}, {4, 4, 1}};
  NextTokenLoss loss;
  loss.observe(scores_of_tokens(rows), std::vector<std::int64_t>{0, 2, 1}, {});
  EXPECT_EQ(loss.tokens(), 2U);
  const double expected = (plain_loss(rows[0], 2) + plain_loss(rows[1], 1)) / 2;
  EXPECT_NEAR(*loss.mean(), expected, kRounding);
  EXPECT_NEAR(*loss.perplexity(), std::exp(expected), kRounding * std::exp(expected));
}

TEST(NextTokenLoss, TakesALabelForTheTokenBehindTheLastOne) {
  const std::vector<std::vector<float>> rows{{1, 2, 3}};
  NextTokenLoss loss;
  loss.observe(scores_of_tokens(rows), std::vector<std::int64_t>{0}, 1);
  EXPECT_EQ(loss.tokens(), 1U);
  EXPECT_NEAR(*loss.mean(), plain_loss(rows[0], 1), kRounding);
}

TEST(NextTokenLoss, IsOfEqualScoresAsLargeAsTheVocabularySays) {
  NextTokenLoss loss;
  loss.observe(Tensor(DType::kFloat32, {1, 4, 50}), std::vector<std::int64_t>{3, 1, 4, 1}, {});
  EXPECT_NEAR(*loss.perplexity(), 50, 50 * kRounding);
}

TEST(NextTokenLoss, LeavesOutWhatIsMasked) {
  const std::vector<std::vector<float>> rows{{1, 2, 3}, {9, -1, 0.5F}, {4, 4, 1}, {0, 1, 2}};
  NextTokenLoss loss;
  loss.observe(scores_of_tokens(rows), std::vector<std::int64_t>{-1, 2, 1, -1}, {});
  EXPECT_EQ(loss.tokens(), 1U);
  EXPECT_NEAR(*loss.mean(), plain_loss(rows[1], 1), kRounding);
}

TEST(NextTokenLoss, IsNotDefinedForOtherTokensAndScores) {
  const std::vector<std::vector<float>> rows{{1, 2}, {1, 2}};
  const float infinity = std::numeric_limits<float>::infinity();
  const auto defined = [&](const Tensor& scores, const std::vector<std::int64_t>& tokens) {
    NextTokenLoss loss;
    loss.observe(scores_of_tokens(rows), std::vector<std::int64_t>{0, 1}, {});
    NextTokenLoss other;
    other.observe(scores, tokens, {});
    loss.merge(other);
    return loss.mean().has_value();
  };
  EXPECT_TRUE(defined(scores_of_tokens(rows), {0, 1}));
  EXPECT_FALSE(defined(scores_of_tokens(rows), {0, 2})) << "outside of the vocabulary";
  EXPECT_FALSE(defined(scores_of_tokens({{infinity, 2}, {1, 2}}), {0, 1}));
  EXPECT_FALSE(NextTokenLoss().mean().has_value()) << "of no tokens";
}

TEST(NextTokenLoss, IsTheSameHoweverSamplesAreGrouped) {
  Random random{3};
  std::vector<Tensor> scores;
  for (int i = 0; i < 20; ++i) {
    scores.push_back(random.tensor({1, 5, 7}));
  }
  const std::vector<std::int64_t> tokens{1, 6, 0, 3, 3};
  NextTokenLoss whole;
  for (const Tensor& each : scores) {
    whole.observe(each, tokens, 2);
  }
  NextTokenLoss sum;
  for (std::size_t first = 3; first-- > 0;) {
    NextTokenLoss part;
    for (std::size_t i = first; i < scores.size(); i += 3) {
      part.observe(scores[i], tokens, 2);
    }
    sum.merge(part);
  }
  EXPECT_EQ(sum.mean(), whole.mean());
}

TEST(TokensOf, AreThoseOfTheRowWithTheEndOfTheMask) {
  const Tensor ids = Tensor::of<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(tokens_of(ids, nullptr, 1), (std::vector<std::int64_t>{4, 5, 6}));
  // Two more columns are about what is in a cache.
  const Tensor mask = Tensor::of<std::int64_t>({2, 5}, {1, 1, 0, 1, 1, 0, 0, 1, 1, 0});
  EXPECT_EQ(tokens_of(ids, &mask, 0), (std::vector<std::int64_t>{-1, 2, 3}));
  EXPECT_EQ(tokens_of(ids, &mask, 1), (std::vector<std::int64_t>{4, 5, -1}));
}

/// Rows of a table that the first input chooses, times a matrix.
Graph language_model(const char* ids, const char* logits) {
  Graph graph;
  const ValueId first =
      graph.add_input(ids, {.dtype = DType::kInt64, .shape = {1, 4}, .quant = {}, .point = {}});
  const ValueId mask = graph.add_input(
      "attention_mask", {.dtype = DType::kInt64, .shape = {1, 4}, .quant = {}, .point = {}});
  (void)mask;
  Random random{5};
  const ValueId table = graph.add_constant("table", random.tensor({9, 6}));
  const ValueId rows = add(graph, "Gather", {table, first}, {1, 4, 6});
  const ValueId head = graph.add_constant("head", random.tensor({6, 9}));
  const ValueId scores = add(graph, "MatMul", {rows, head}, {1, 4, 9});
  graph.rename(scores, logits);
  graph.set_outputs({rows, scores});
  return graph;
}

TEST(TokenInterface, IsFoundByNamesOrByWhatIsLookedUp) {
  const auto by_name = token_interface(language_model("input_ids", "logits"));
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->ids, 0U);
  EXPECT_EQ(by_name->mask, 1U);
  EXPECT_EQ(by_name->logits, 1U);
  const auto by_use = token_interface(language_model("tokens", "scores"));
  ASSERT_TRUE(by_use);
  EXPECT_EQ(by_use->ids, 0U);
  EXPECT_EQ(by_use->logits, 0U) << "the first one of that shape";
  EXPECT_FALSE(token_interface(Digits().model));
}

TEST(TokenInterface, IsNotThatOfHiddenStates) {
  Graph graph;
  const ValueId ids = graph.add_input(
      "input_ids", {.dtype = DType::kInt64, .shape = {1, 4}, .quant = {}, .point = {}});
  Random random{5};
  const ValueId table = graph.add_constant("table", random.tensor({64, 6}));
  graph.set_outputs({add(graph, "Gather", {table, ids}, {1, 4, 6})});
  EXPECT_FALSE(token_interface(graph)) << "6 numbers are no scores of 64 tokens";
}

TEST(TokenMetrics, CompareWithTheFloatNetwork) {
  const Tensor real = scores_of_tokens({{1, 2, 3}, {3, 1, 0}, {0, 2, 1}});
  const Tensor quantized = scores_of_tokens({{1, 2.5F, 3}, {1, 3, 0}, {0, 2, 1}});
  const std::vector<std::int64_t> tokens{0, 2, 0};
  const SampleResults results{
      .real = {&real, 1}, .quantized = {&quantized, 1}, .label = {}, .tokens = tokens};
  const auto value_of = [&](std::string_view name) {
    for (const MetricInfo& info : Toolkit::builtin().metrics) {
      if (info.name == name) {
        const auto metric = info.make();
        const auto none = info.make();
        metric->observe(results);
        metric->merge(*none);
        const auto other = info.make();
        other->merge_told(metric->told().value());
        EXPECT_EQ(other->value(), metric->value()) << "as another process is told";
        EXPECT_FALSE(none->value()) << name << " of no tokens";
        return metric->value().value();
      }
    }
    return 0.0;
  };
  NextTokenLoss before;
  before.observe(real, tokens, {});
  NextTokenLoss after;
  after.observe(quantized, tokens, {});
  EXPECT_EQ(value_of("perplexity.float"), *before.perplexity());
  EXPECT_EQ(value_of("perplexity"), *after.perplexity());
  EXPECT_EQ(value_of("perplexity.increase"),
            100 * (*after.perplexity() / *before.perplexity() - 1));
  // Of three rows the second one has its largest score elsewhere.
  EXPECT_NEAR(value_of("tokens.agreement"), 100 * 2.0 / 3, 1e-12);
}

}  // namespace
}  // namespace tare::test
