#include "search/width_choice.h"

#include "support/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

using Layers = std::vector<std::vector<WidthOption>>;

/// Fewer bits take less and mostly lose more, as they do in networks.
Layers random_layers(Random& random, std::size_t count) {
  Layers layers;
  for (std::size_t i = 0; i < count; ++i) {
    const auto weights = static_cast<double>(random.integer(8, 5000));
    const auto reuse = static_cast<double>(random.integer(1, 300));
    const auto sensitivity = static_cast<double>(random.integer(1, 1000));
    std::vector<WidthOption> options;
    for (const int bits : {8, 4, 2}) {
      const auto noise = static_cast<double>(random.integer(50, 150));
      options.push_back({.bits = bits,
                         .error = sensitivity * noise / (1 << (2 * bits)),
                         .bytes = std::ceil(weights * bits / 8),
                         .bit_operations = weights * reuse * bits * 8});
    }
    layers.push_back(std::move(options));
  }
  return layers;
}

struct Sum {
  double error = 0;
  double bytes = 0;
  double bit_operations = 0;

  bool is_within(const WidthLimits& limits) const {
    return bytes <= limits.bytes && bit_operations <= limits.bit_operations;
  }
};

Sum sum_of(const Layers& layers, const std::vector<std::size_t>& choice) {
  Sum sum;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const WidthOption& option = layers[i][choice[i]];
    sum.error += option.error;
    sum.bytes += option.bytes;
    sum.bit_operations += option.bit_operations;
  }
  return sum;
}

Sum uniform(const Layers& layers, std::size_t option) {
  return sum_of(layers, std::vector<std::size_t>(layers.size(), option));
}

/// Tries every choice. Infinite where none fits.
double least_error_of_all(const Layers& layers, const WidthLimits& limits) {
  std::vector<std::size_t> choice(layers.size(), 0);
  double least = kNoLimit;
  for (;;) {
    const Sum sum = sum_of(layers, choice);
    if (sum.is_within(limits)) {
      least = std::min(least, sum.error);
    }
    std::size_t at = 0;
    while (at < choice.size() && ++choice[at] == layers[at].size()) {
      choice[at++] = 0;
    }
    if (at == choice.size()) {
      return least;
    }
  }
}

class WidthChoices : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(WidthChoices, AreTheBestOfAllThatFit) {
  Random random(GetParam());
  const Layers layers = random_layers(random, 7);
  const Sum widest = uniform(layers, 0);
  for (int round = 0; round < 10; ++round) {
    const auto share = [&] { return 0.01 * static_cast<double>(random.integer(15, 110)); };
    const double bytes = random.coin() ? share() * widest.bytes : kNoLimit;
    const double operations = random.coin() ? share() * widest.bit_operations : kNoLimit;
    const WidthLimits limits{bytes, operations};
    const auto choice = least_error_within(layers, limits);
    const double least = least_error_of_all(layers, limits);
    ASSERT_EQ(choice.has_value(), least < kNoLimit);
    if (choice) {
      EXPECT_TRUE(sum_of(layers, *choice).is_within(limits));
      // Sums in another order differ by rounding.
      EXPECT_NEAR(sum_of(layers, *choice).error, least, 1e-9 * least);
    }
  }
}

/// The linear relaxation of the problem is no worse than any choice, and no better than one
/// layer more with the next width: steps down the convex hull of each layer's options, the
/// cheapest ones first (Sinha and Zoltners, The Multiple-Choice Knapsack Problem, 1979).
double relaxed_error(const Layers& layers, double bytes) {
  struct Step {
    double error;
    double bytes;
  };
  std::vector<Step> steps;
  Sum sum = uniform(layers, 0);
  for (const auto& options : layers) {
    for (std::size_t at = 0; at + 1 < options.size();) {
      std::size_t best = at + 1;
      const auto price = [&](std::size_t next) {
        return (options[next].error - options[at].error) /
               (options[at].bytes - options[next].bytes);
      };
      for (std::size_t next = at + 1; next < options.size(); ++next) {
        best = price(next) < price(best) ? next : best;
      }
      steps.push_back(
          {options[best].error - options[at].error, options[at].bytes - options[best].bytes});
      at = best;
    }
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.error * b.bytes < b.error * a.bytes; });
  for (const Step& step : steps) {
    const double part = std::clamp((sum.bytes - bytes) / step.bytes, 0.0, 1.0);
    sum.bytes -= part * step.bytes;
    sum.error += part * step.error;
  }
  return sum.error;
}

TEST_P(WidthChoices, OfLongNetworksAreNearlyAsGoodAsTheLinearRelaxation) {
  Random random(GetParam());
  const Layers layers = random_layers(random, 300);
  for (const double share : {0.3, 0.5, 0.8, 0.95}) {
    const WidthLimits limits{share * uniform(layers, 0).bytes, kNoLimit};
    const auto choice = least_error_within(layers, limits);
    ASSERT_TRUE(choice);
    EXPECT_TRUE(sum_of(layers, *choice).is_within(limits));
    // One of 300 layers more or less is what the relaxation may be ahead by.
    EXPECT_LT(sum_of(layers, *choice).error, 1.02 * relaxed_error(layers, limits.bytes));
  }
}

/// What is within both limits is within any mean of them, of which the relaxation is no worse.
double relaxed_error_within(const Layers& layers, const WidthLimits& both) {
  double least = 0;
  for (int weight = 0; weight <= 20; ++weight) {
    const double of_bytes = weight / (20 * both.bytes);
    const double of_operations = (20 - weight) / (20 * both.bit_operations);
    Layers joint = layers;
    for (auto& options : joint) {
      for (WidthOption& option : options) {
        option.bytes = of_bytes * option.bytes + of_operations * option.bit_operations;
      }
    }
    least = std::max(least, relaxed_error(joint, 1));
  }
  return least;
}

TEST_P(WidthChoices, OfLongNetworksStayWithinTwoLimits) {
  Random random(GetParam());
  const auto excess = [&](std::size_t count) {
    const Layers layers = random_layers(random, count);
    const Sum widest = uniform(layers, 0);
    const WidthLimits both{0.5 * widest.bytes, 0.5 * widest.bit_operations};
    const auto choice = least_error_within(layers, both);
    EXPECT_TRUE(choice && sum_of(layers, *choice).is_within(both));
    return sum_of(layers, *choice).error / relaxed_error_within(layers, both);
  };
  // With cells in two directions each is 64 times as wide, which is not much in decibels.
  EXPECT_LT(excess(30), 1.05);
  EXPECT_LT(excess(300), 1.2);
}

INSTANTIATE_TEST_SUITE_P(Any, WidthChoices, ::testing::Range(1U, 9U));

TEST(WidthChoice, IsTheLeastErrorWhereNothingIsLimited) {
  const Layers layers{{{.bits = 8, .error = 2}, {.bits = 4, .error = 1}}, {{.bits = 8}}};
  const std::vector<std::size_t> expected{1, 0};
  EXPECT_EQ(least_error_within(layers, {kNoLimit, kNoLimit}), expected);
}

TEST(WidthChoice, OfNoLayersFitsWhereSomethingIsLeft) {
  EXPECT_TRUE(least_error_within({}, {0, 0}));
  EXPECT_FALSE(least_error_within({}, {-1, 0}));
}

}  // namespace
}  // namespace tare::test
