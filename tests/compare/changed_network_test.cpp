#include "compare/changed_network.h"

#include "compare/compared.h"
#include "compare/real_interface.h"
#include "support/difference.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

double distance(const Graph& a, const Graph& b, const Dataset& data, std::size_t samples) {
  return test::distance(results_of(a, data, samples), results_of(b, data, samples));
}

constexpr std::size_t kSamples = 4;

class ChangedNetwork : public ::testing::TestWithParam<TestModel> {};

std::vector<TestModel> small_models() {
  std::vector<TestModel> models = test_models();
  std::erase_if(models, [](const TestModel& model) {
    return model.name == "mobilenet" || model.name == "yolox_nano";
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Models, ChangedNetwork, ::testing::ValuesIn(small_models()),
                         [](const auto& given) { return given.param.name; });

TEST_P(ChangedNetwork, IsTheFloatNetworkOnceAllLayersStayFloat) {
  const Compared compared(GetParam());
  const ChangeableNetwork network(compared.real(), compared.result.integer);
  ProposedChange change;
  for (const LayerReport& layer : compared.report({.samples = 1}).layers) {
    change.keep_float.push_back(layer.name);
  }
  ASSERT_TRUE(network.has(change));
  // The same operators, fused in another way.
  EXPECT_LT(
      distance(compared.real(), network.with(std::span(&change, 1)), *compared.data, kSamples),
      1e-5);
}

TEST_P(ChangedNetwork, IsTheQuantizedOneAsLongAsNothingChanges) {
  const Compared compared(GetParam());
  const Graph& integer = compared.result.integer;
  const ChangeableNetwork network(compared.real(), integer);
  const double quantized = distance(compared.real(), integer, *compared.data, kSamples);
  // Sums in float32 are rounded where integers are not, and then a step lies elsewhere now and
  // then: a small part of what rounding everything costs.
  EXPECT_LT(distance(integer, network.with({}), *compared.data, kSamples), 0.25 * quantized);
}

TEST(ChangeRange, HasTheErrorOfThatRange) {
  const Compared compared(test_models().front());
  const ChangeableNetwork network(compared.real(), compared.result.integer);
  const Report report = compared.report({.samples = 1});
  const PointReport& input = report.points.front();
  ProposedChange wide;
  wide.point = input.name;
  wide.range = {64 * input.calibrated.low, 64 * input.calibrated.high};
  const double before = distance(compared.real(), network.with({}), *compared.data, kSamples);
  const double after =
      distance(compared.real(), network.with(std::span(&wide, 1)), *compared.data, kSamples);
  // Six of eight bits are gone there.
  EXPECT_GT(after, 4 * before);
}

TEST(ChangeableNetwork, HasNoLayersAndPointsThatThereAreNot) {
  const Compared compared(test_models().front());
  const ChangeableNetwork network(compared.real(), compared.result.integer);
  ProposedChange none;
  none.keep_float = {"no such layer"};
  EXPECT_FALSE(network.has(none));
  none.keep_float.clear();
  none.point = "no such point";
  EXPECT_FALSE(network.has(none));
}

}  // namespace
}  // namespace tare::test
