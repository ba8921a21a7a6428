#include "tare/quantize.h"

#include "support/files/digits.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class EstimateCost : public ::testing::Test {
 protected:
  CostEstimate with(const Config& config, const CalibrateOptions& options) const {
    return estimate_cost(digits_.model, *digits_.data, config, Toolkit::builtin(), options);
  }

  Digits digits_;
};

TEST_F(EstimateCost, GrowsWithTheEffort) {
  const std::map<Effort, double> seconds = with({}, {.threads = 1}).seconds;
  EXPECT_GT(seconds.at(Effort::kFast), 0);
  EXPECT_LT(seconds.at(Effort::kFast), seconds.at(Effort::kDefault));
  EXPECT_LT(seconds.at(Effort::kDefault), seconds.at(Effort::kBest));
}

TEST_F(EstimateCost, SaysThatWhatMemoryDoesNotTakeIsOnTheDisk) {
  constexpr std::size_t kLittle = 100'000;
  const CostEstimate usual = with({}, {});
  const CostEstimate little = with({}, {.memory = kLittle});
  EXPECT_GT(usual.activations, kLittle);
  EXPECT_EQ(little.activations, kLittle);
  EXPECT_DOUBLE_EQ(usual.activations + usual.disk, little.activations + little.disk);
  EXPECT_DOUBLE_EQ(usual.memory - usual.activations, little.memory - little.activations);
}

TEST_F(EstimateCost, KeepsNoActivationsWithEffortFast) {
  Config config;
  config.effort = Effort::kFast;
  EXPECT_EQ(with(config, {}).activations, 0);
  EXPECT_EQ(with(config, {}).disk, 0);
}

}  // namespace
}  // namespace tare::test
