#include "search/wide_activations.h"

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include "graph/operators/product.h"
#include "support/random/random.h"

#include <algorithm>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Products with and without what fuses with them, a branch, and values that share parameters.
constexpr const char* kNetwork =
    "graph \"g\" opset 17 (%x : f32[1,2,4,4]) -> (%y) {\n"
    "const %wa : f32[3,2,1,1] = [1, -1, 0.5, 0.25, 2, 1]\n"
    "const %wb : f32[3,3,1,1] = [1, -1, 0.5, 0.25, 2, 1, 3, 4, -2]\n"
    "const %wc : f32[2,3,1,1] = [1, -1, 0.5, 0.25, 2, 1]\n"
    "%a0 = Conv(%x, %wa) : f32[1,3,4,4]\n"
    "%a = Relu(%a0) : f32[1,3,4,4]\n"
    "%b = Conv(%a, %wb) : f32[1,3,4,4]\n"
    "%g = Sigmoid(%b) : f32[1,3,4,4]\n"
    "%m = Mul(%b, %g) : f32[1,3,4,4]\n"
    "%k = Concat(%a, %m) {axis=0} : f32[2,3,4,4]\n"
    "%y = Conv(%k, %wc) : f32[2,2,4,4]\n}";

class WideActivationsOf : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  WideActivationsOf() {
    Random random(GetParam());
    for (const QuantPoint& point : simulated_.points) {
      if (point.role != Role::kAccumulator) {
        errors_.emplace(point.name, 0.001 * static_cast<double>(random.integer(0, 1000)));
      }
      if (point.role == Role::kActivation) {
        candidates_.insert(point.name);
      }
    }
    slowdown_ = 0.01 * static_cast<double>(random.integer(0, 120));
  }

  /// Of all operators that read or compute one of these, with what fuses with them.
  double time(const std::set<std::string>& wide) const {
    // a0 runs with a; multiplications: 96 of a, 144 of b, 192 of y; elements: 48, k has 96.
    const auto has = [&](std::initializer_list<const char*> values) {
      return std::any_of(values.begin(), values.end(),
                         [&](const char* value) { return wide.contains(value); });
    };
    return (has({"x", "a"}) ? 96 + 48 : 0) + (has({"a", "b"}) ? 144 : 0) +
           (has({"b", "g"}) ? 48 : 0) + (has({"b", "g", "m"}) ? 48 : 0) +
           (has({"a", "m", "k"}) ? 96 : 0) + (has({"k", "y"}) ? 192 : 0);
  }
  static constexpr double kAll = 96 + 48 + 144 + 48 + 48 + 96 + 192;

  double sum(Role role, const std::set<std::string>& wide) const {
    double result = 0;
    for (const QuantPoint& point : simulated_.points) {
      result += point.role == role && !wide.contains(point.name) ? errors_.at(point.name) : 0;
    }
    return result;
  }
  /// With those that share its parameters.
  std::set<std::string> group(const std::string& name) const {
    for (const std::vector<std::string>& unified : simulated_.unified) {
      if (std::find(unified.begin(), unified.end(), name) != unified.end()) {
        return {unified.begin(), unified.end()};
      }
    }
    return {name};
  }

  SimulatedGraph simulated_ =
      simulate(parse(kNetwork), {}, read_target("qnn"), Toolkit::builtin().patterns);
  tare::Sensitivities errors_;
  std::set<std::string> candidates_;
  double slowdown_ = 0;
};

TEST_P(WideActivationsOf, FitIntoTheTimeAndLeaveNoneThatWouldFitToo) {
  const auto wide = wide_activations(simulated_, candidates_, errors_, slowdown_);
  const double limit = slowdown_ * kAll;
  EXPECT_LE(time(wide), limit);
  for (const std::string& name : wide) {
    const auto together = group(name);
    EXPECT_TRUE(std::includes(wide.begin(), wide.end(), together.begin(), together.end()));
  }
  if (sum(Role::kActivation, wide) <= sum(Role::kWeight, {})) {
    return;  // good enough
  }
  for (const std::string& name : candidates_) {
    std::set<std::string> more = group(name);
    const bool gains = std::any_of(more.begin(), more.end(), [&](const std::string& each) {
      return errors_.at(each) > 0 && !wide.contains(each);
    });
    more.insert(wide.begin(), wide.end());
    EXPECT_TRUE(!gains || time(more) > limit) << name;
  }
}

TEST_P(WideActivationsOf, AreNoMoreThanItTakesToBeAsGoodAsTheWeights) {
  const auto wide = wide_activations(simulated_, candidates_, errors_, 10);
  EXPECT_LE(sum(Role::kActivation, wide), sum(Role::kWeight, {}));
  tare::Sensitivities exact = errors_;
  for (const QuantPoint& point : simulated_.points) {
    if (point.role == Role::kActivation) {
      exact[point.name] = 1e-9 * errors_[point.name];
    }
  }
  if (sum(Role::kWeight, {}) > 1e-6) {
    EXPECT_TRUE(wide_activations(simulated_, candidates_, exact, 10).empty());
  }
}

TEST_P(WideActivationsOf, MakePlansOfWhichEachIsSlowerAndHasLessError) {
  const auto plans = wide_activation_plans(simulated_, candidates_, errors_);
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(plans[0].slowdown, 0);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const MixedPrecisionPlan& plan = plans[i];
    const auto wide = wide_activations(simulated_, candidates_, errors_, plan.slowdown);
    EXPECT_EQ(plan.nanoseconds, kAll + time(wide));
    EXPECT_NEAR(plan.error, sum(Role::kWeight, {}) + sum(Role::kActivation, wide), 1e-12);
    EXPECT_TRUE(plan.float_nodes.empty());
    if (i > 0) {
      EXPECT_GT(plan.slowdown, plans[i - 1].slowdown);
      EXPECT_GT(plan.nanoseconds, plans[i - 1].nanoseconds);
      EXPECT_LT(plan.error, plans[i - 1].error);
    }
  }
}

TEST_P(WideActivationsOf, AreThoseThatMayBeAlone) {
  const std::string fixed = "b";
  candidates_.erase(fixed);
  EXPECT_FALSE(wide_activations(simulated_, candidates_, errors_, 10).contains(fixed));
  EXPECT_TRUE(wide_activations(simulated_, {}, errors_, 10).empty());
  EXPECT_TRUE(wide_activations(simulated_, candidates_, {}, 10).empty());
  EXPECT_EQ(time(wide_activations(simulated_, candidates_, errors_, 0)), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WideActivationsOf, ::testing::Range(0U, 50U));

}  // namespace
}  // namespace tare::test
