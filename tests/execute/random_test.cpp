#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include "support/node_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kDrawn = 40'000;

std::vector<float> drawn(const std::string& op, Attributes attributes,
                         const std::string& name = "noise") {
  Node node = make_node(op, std::move(attributes));
  node.name = name;
  const TensorType type{.dtype = DType::kFloat32, .shape = {kDrawn}, .quant = {}, .point = {}};
  return run_node(node, {{Tensor(DType::kFloat32, {kDrawn})}}, {type})[0].to_float();
}

double mean_of(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(kDrawn);
}

double variance_of(const std::vector<float>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const float value : values) {
    sum += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  }
  return sum / static_cast<double>(kDrawn);
}

/// Five standard deviations of a mean of so many numbers: one run in a million is beyond.
double bound(double deviation) {
  return 5 * deviation / std::sqrt(static_cast<double>(kDrawn));
}

TEST(RandomNumbers, OfANormalDistributionHaveItsMoments) {
  const auto values = drawn("RandomNormalLike", {{"mean", 3.0F}, {"scale", 2.0F}});
  EXPECT_NEAR(mean_of(values), 3, bound(2));
  EXPECT_NEAR(variance_of(values), 4, bound(4 * std::sqrt(2)));
  // The share within one standard deviation.
  const auto inside = std::count_if(values.begin(), values.end(),
                                    [](float value) { return std::abs(value - 3) < 2; });
  EXPECT_NEAR(static_cast<double>(inside) / kDrawn, 0.6827, bound(0.4655));
}

TEST(RandomNumbers, OfAUniformDistributionLieWithinItsEnds) {
  const auto values = drawn("RandomUniformLike", {{"low", -1.0F}, {"high", 3.0F}});
  EXPECT_NEAR(mean_of(values), 1, bound(4 / std::sqrt(12)));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, -1);
  EXPECT_LE(*high, 3);
}

TEST(RandomNumbers, AreThoseOfTheSeedOrTheNameInEachRun) {
  EXPECT_EQ(drawn("RandomNormalLike", {}), drawn("RandomNormalLike", {}));
  EXPECT_NE(drawn("RandomNormalLike", {}), drawn("RandomNormalLike", {}, "other"));
  EXPECT_EQ(drawn("RandomNormalLike", {{"seed", 1.5F}}),
            drawn("RandomNormalLike", {{"seed", 1.5F}}, "other"));
  EXPECT_NE(drawn("RandomNormalLike", {{"seed", 1.5F}}),
            drawn("RandomNormalLike", {{"seed", 2.5F}}));
}

TEST(RandomNumbers, HitAsOftenAsBernoulliIsTold) {
  Node node = make_node("Bernoulli");
  Tensor chances(DType::kFloat32, {kDrawn});
  for (float& chance : chances.mutable_view<float>()) {
    chance = 0.3F;
  }
  const TensorType type{.dtype = DType::kBool, .shape = {kDrawn}, .quant = {}, .point = {}};
  const auto hits = run_node(node, {{chances}}, {type})[0].to_float();
  EXPECT_NEAR(mean_of(hits), 0.3, bound(std::sqrt(0.21)));
}

TEST(RandomNumbers, OfAMultinomialDistributionAreAsLikelyAsTheirRowSays) {
  const Node node = make_node("Multinomial", {{"sample_size", kDrawn}});
  const std::vector<double> shares{0.5, 0.1, 0.4};
  Tensor logits(DType::kFloat32, {2, 3});
  for (std::size_t i = 0; i < shares.size(); ++i) {  // the first row has an offset
    logits.mutable_view<float>()[i] = static_cast<float>(100 + std::log(shares[i]));
    logits.mutable_view<float>()[5 - i] = static_cast<float>(std::log(shares[i]));
  }
  const TensorType type{.dtype = DType::kInt32, .shape = {2, kDrawn}, .quant = {}, .point = {}};
  const auto drawn_classes = run_node(node, {{logits}}, {type})[0].to_int64();
  for (std::int64_t i = 0; i < 3; ++i) {
    const double share = shares[static_cast<std::size_t>(i)];
    const double limit = bound(std::sqrt(share * (1 - share)));
    const auto first = drawn_classes.begin();
    const auto second = first + kDrawn;
    EXPECT_NEAR(static_cast<double>(std::count(first, second, i)) / kDrawn, share, limit);
    EXPECT_NEAR(static_cast<double>(std::count(second, drawn_classes.end(), 2 - i)) / kDrawn,
                share, limit);
  }
}

TEST(RandomNumbers, AreNoConstants) {
  const Node node = make_node("RandomUniform", {{"shape", std::vector<std::int64_t>{4}}});
  const TensorType type{.dtype = DType::kFloat32, .shape = {4}, .quant = {}, .point = {}};
  EXPECT_THROW((void)evaluate(node, {}, {&type, 1}), Error);
}

}  // namespace
}  // namespace tare::test
