#include "reconstruct/adaround.h"

#include "simulate/quantized_constants.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Weights of 4 channels in 4 bits, some of them rounded the other way.
struct Start {
  Tensor exact;
  PointResult result;

  explicit Start(std::uint32_t seed) {
    Random random(seed);
    exact = random.tensor({4, 6});
    const QuantSpec spec{.storage = DType::kInt8,
                         .granularity = Granularity::kPerAxis,
                         .symmetric = true,
                         .narrow_range = true,
                         .bits = 4};
    result.params = to_quant_params(std::vector<Range>(4, Range{-4, 4}), spec);
    for (std::int64_t i = 0; i < exact.size(); ++i) {
      result.rounding.push_back(static_cast<std::int8_t>(random.integer(-1, 1)));
    }
  }
  std::vector<float> weights() const {
    return dequantize(quantized_weight(exact, result), result.params).to_float();
  }
};

TEST(AdaptiveRounding, BeginsWithTheIntegersThatItIsGiven) {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    const Start start(seed);
    const AdaptiveRounding rounding(start.exact, start.result);
    std::vector<float> decided(rounding.size());
    rounding.express(0, rounding.size(), true, decided);
    EXPECT_EQ(decided, start.weights());
    PointResult result = start.result;
    rounding.finish({}, 0, result);
    EXPECT_EQ(quantized_weight(start.exact, result),
              quantized_weight(start.exact, start.result));
  }
}

/// Pulled towards a place between the two integers of each weight, and then pressed.
TEST(AdaptiveRounding, EndsAtIntegersUnderPressure) {
  const Start start(3);
  AdaptiveRounding rounding(start.exact, start.result);
  std::vector<float> weights(rounding.size());
  std::vector<float> gradient(rounding.size());
  for (int step = 0; step < 2000; ++step) {
    rounding.express(0, rounding.size(), false, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      gradient[i] = weights[i] - start.exact.view<float>()[i];
    }
    rounding.begin_step();
    rounding.step(0, rounding.size(), gradient, 1, 2, 0.02F);
  }
  std::vector<float> decided(rounding.size());
  rounding.express(0, rounding.size(), false, weights);
  rounding.express(0, rounding.size(), true, decided);
  EXPECT_EQ(weights, decided);
}

/// Gradients that want larger weights make scales larger, unless they may only do the opposite.
TEST(AdaptiveRounding, LearnsScales) {
  const Start start(4);
  for (const float sign : {-1.0F, 1.0F}) {
    for (const bool widen_only : {false, true}) {
      AdaptiveRounding rounding(start.exact, start.result);
      std::vector<float> gradient = start.weights();
      std::for_each(gradient.begin(), gradient.end(), [&](float& g) { g *= sign; });
      for (int step = 0; step < 10; ++step) {
        rounding.step_scales(gradient, true, widen_only, 0.01F);
      }
      PointResult result = start.result;
      rounding.finish({}, 0, result);
      for (std::size_t k = 0; k < 4; ++k) {
        const float ratio = result.params.scale[k] / start.result.params.scale[k];
        const float expected = sign < 0 ? 1.105F : widen_only ? 1 : 0.905F;  // e^0.1, e^-0.1
        EXPECT_NEAR(ratio, expected, 0.002F);
      }
    }
  }
}

/// Scales twice as large have other nearest integers, several away from those that were
/// learned.
TEST(AdaptiveRounding, KeepsIntegersHoweverFarScalesMove) {
  const Start start(6);
  AdaptiveRounding rounding(start.exact, start.result);
  std::vector<float> gradient = start.weights();
  std::for_each(gradient.begin(), gradient.end(), [](float& g) { g = -g; });
  for (int step = 0; step < 70; ++step) {
    rounding.step_scales(gradient, true, false, 0.01F);
  }
  PointResult result = start.result;
  rounding.finish({}, 0, result);
  ASSERT_GT(result.params.scale[0], 1.9F * start.result.params.scale[0]);
  EXPECT_EQ(quantized_weight(start.exact, result), quantized_weight(start.exact, start.result));
}

TEST(AdaptiveRounding, KeepsSumsOfPairsWithinTheirLimit) {
  const Start start(5);
  const AdaptiveRounding rounding(start.exact, start.result);
  std::vector<std::array<std::size_t, 2>> pairs;
  for (std::size_t i = 0; i < rounding.size(); i += 2) {
    pairs.push_back({i, i + 1});
  }
  PointResult nearest = start.result;
  nearest.rounding.clear();
  const auto sums = [&](const PointResult& result) {
    const auto q = quantized_weight(start.exact, result).to_float();
    std::vector<float> all;
    for (const auto& [a, b] : pairs) {
      all.push_back(std::abs(q[a] + q[b]));
    }
    return all;
  };
  const std::vector<float> of_nearest = sums(nearest);
  const auto limit = static_cast<int>(*std::max_element(of_nearest.begin(), of_nearest.end()));
  const std::vector<float> before = sums(start.result);
  ASSERT_GT(*std::max_element(before.begin(), before.end()), static_cast<float>(limit));
  PointResult result = start.result;
  rounding.finish(pairs, limit, result);
  for (const float sum : sums(result)) {
    EXPECT_LE(sum, static_cast<float>(limit));
  }
}

}  // namespace
}  // namespace tare::test
