#include "calibrate/selection/small_divisors.h"

#include "tare/execute.h"
#include "tare/quantize.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include "support/files/samples_in_memory.h"
#include "support/graphs.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// From 2^-4 to 2^7: 256 steps are too few for that.
Tensor powers() {
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) {
    values.push_back(std::ldexp(1.0F, i % 12 - 4));
  }
  return Tensor::of<float>({2, 12}, values);
}

const std::vector<Tensor> kPowers{powers()};

Graph network(const std::string& body) {
  return parse(
      "graph \"g\" opset 17 (%v : f32[N=2,12]) -> (%y) {\n"
      "const %e : f32[] = [1e-12]\nconst %m : f32[] = [-0.5]\nconst %h : f32[] = [0.5]\n"
      "const %w : f32[12,12] = [" +
      [] {
        std::string text;
        for (int i = 0; i < 144; ++i) {
          text += std::string(i == 0 ? "" : ", ") + (i % 13 == 0 ? "1" : "0");
        }
        return text;
      }() +
      "]\n" + body + "\n}");
}

SamplesInMemory samples() {
  return SamplesInMemory({{"v", kPowers[0]}});
}

Config everything() {
  Config config;
  config.objective = Objective::kCoverage;
  return config;
}

std::set<std::string> kept_for_divisors(const QuantizeResult& result) {
  std::set<std::string> names;
  for (const KeptFloat& kept : result.simulated.kept_float) {
    if (kept.reason == kDividesBySmall) {
      names.insert(kept.node);
    }
  }
  return names;
}

using Names = std::set<std::string>;

/// Each of them is infinite for an operand of 0, to which the smallest numbers would be
/// rounded.
class SmallDivisors : public testing::TestWithParam<const char*> {};

TEST_P(SmallDivisors, StayInFloatWithWhatTheyAreMadeOf) {
  const Graph graph = network(
      "p: %p = MatMul(%v, %w) : f32[2,12]\na: %a = Add(%p, %e) : f32[2,12]\n"
      "t: %t = Transpose(%a) {perm = [1, 0]} : f32[12,2]\n" +
      std::string(GetParam()) + "\nz: %y = Add(%d, %d) : f32[12,2]");
  for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
    Config config = everything();
    config.effort = effort;
    const QuantizeResult result = quantize(graph, samples(), config, Toolkit::builtin(), {});
    EXPECT_TRUE(kept_for_divisors(result).contains("p"));
    const Tensor y = Executable(result.integer).run(kPowers)[0];
    for (const float value : y.view<float>()) {
      EXPECT_TRUE(std::isfinite(value));
    }
    EXPECT_FALSE(result.simulated.regions.empty()) << "what follows is on integers";
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, SmallDivisors,
                         testing::Values("d: %d = Log(%t) : f32[12,2]",
                                         "d: %d = Reciprocal(%t) : f32[12,2]",
                                         "d: %d = Rsqrt(%t) : f32[12,2]",
                                         "d: %d = Pow(%t, %m) : f32[12,2]",
                                         "d: %d = Div(%t, %t) : f32[12,2]"));

TEST(SmallDivisors, AreThoseThatStepsAreTooLargeFor) {
  const auto kept = [](const std::string& body, const Config& config = everything()) {
    return kept_for_divisors(quantize(network("p: %p = MatMul(%v, %w) : f32[2,12]\n" + body),
                                      samples(), config, Toolkit::builtin(), {}));
  };
  EXPECT_EQ(kept("d: %y = Pow(%p, %h) : f32[2,12]"), Names{}) << "0 has a root";
  EXPECT_EQ(kept("s: %s = Sigmoid(%p) : f32[2,12]\nd: %y = Log(%s) : f32[2,12]"), Names{})
      << "from 0.5 to 1";
  EXPECT_TRUE(kept("d: %y = Log(%p) : f32[2,12]").contains("p"));
  Config wide = everything();
  wide.target = "qnn";
  wide.activations.bits = 16;
  EXPECT_EQ(kept("d: %y = Log(%p) : f32[2,12]", wide), Names{}) << "65536 steps suffice";
}

TEST(SmallDivisors, AreFoundInStatisticsAsWell) {
  const Graph graph =
      network("p: %p = MatMul(%v, %w) : f32[2,12]\nd: %y = Log(%p) : f32[2,12]");
  const Config config = everything();
  const Toolkit toolkit = Toolkit::builtin();
  const SimulatedGraph simulated =
      simulate(prepare(graph, toolkit), config, target_of(config, toolkit), toolkit.patterns);
  const Statistics statistics = collect(simulated, samples());
  EXPECT_TRUE(kept_for_divisors(quantize(graph, statistics, config, toolkit)).contains("p"));
}

TEST(SmallDivisors, AreOnIntegersWhereTheConfigurationWantsThat) {
  Config config = everything();
  LayerRule rule;
  rule.name = "p";
  rule.keep_float = false;
  config.layers.push_back(rule);
  const QuantizeResult result =
      quantize(network("p: %p = MatMul(%v, %w) : f32[2,12]\nd: %y = Log(%p) : f32[2,12]"),
               samples(), config, Toolkit::builtin(), {});
  EXPECT_FALSE(kept_for_divisors(result).contains("p"));
}

}  // namespace
}  // namespace tare::test
