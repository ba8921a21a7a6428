#include "tare/error.h"
#include "tare/search.h"

#include "pipeline/mixed_precision_plans.h"
#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class RulesOfLayers : public InFolder {
 protected:
  Config config(const std::string& text, const std::vector<std::string>& settings = {}) const {
    write_bytes(path("c.yaml"), text);
    return read_config(path("c.yaml"), settings, Toolkit::builtin().calibrator_names());
  }
  QuantizeResult quantized(const Config& config) const {
    return quantize(digits_.model, *digits_.data, config, Toolkit::builtin(), {.samples = 24});
  }

  const Digits digits_;
};

std::size_t count(const std::vector<std::string>& names, const std::string& part) {
  return static_cast<std::size_t>(std::count_if(
      names.begin(), names.end(),
      [&](const std::string& name) { return name.find(part) != std::string::npos; }));
}

std::vector<std::string> float_layers(const QuantizeResult& result) {
  return {result.float_nodes.begin(), result.float_nodes.end()};
}

TEST_F(RulesOfLayers, BeatTheTimeThatAccuracyMayCost) {
  // As slow as it may be, so that all that errs stays in float.
  const std::vector<std::string> any{"accuracy.slowdown=100"};
  const auto without = float_layers(quantized(config("", any)));
  ASSERT_GT(count(without, "/stem/"), 0U);
  ASSERT_GT(count(without, "Gemm"), 0U);
  const QuantizeResult with =
      quantized(config("layers:\n  - {match: {name: /stem/conv/Conv}, keep_float: false}\n"
                       "  - {match: {op: Gemm}, weights: {bits: 4}}\n"
                       "  - {match: {name: /features/Conv}, activations: {storage: int8}}\n",
                       any));
  const auto kept = float_layers(with);
  EXPECT_EQ(count(kept, "/stem/"), 0U);
  EXPECT_EQ(count(kept, "Gemm"), 0U);
  EXPECT_EQ(count(kept, "/features/"), 0U);
  EXPECT_GT(count(kept, "Conv"), 0U) << "the others still may";
  const QuantPoint* weights = with.simulated.find("classifier.weight");
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->spec.bits, 4);
}

TEST_F(RulesOfLayers, AreNotOverruledByASearch) {
  const Config rules =
      config("layers: [{match: {op: BatchNormalization}, keep_float: false}]\n");
  const auto plans = mixed_precision_plans(digits_.model, *digits_.data, rules,
                                           Toolkit::builtin(), {.samples = 12});
  ASSERT_FALSE(plans.empty());
  for (const MixedPrecisionPlan& plan : plans) {
    EXPECT_EQ(count({plan.float_nodes.begin(), plan.float_nodes.end()}, "/conv/Conv"), 0U);
  }
  const QuantizeResult exact = quantized(apply_plan(rules, plans.back()));
  for (const std::string& node : plans.back().float_nodes) {
    EXPECT_EQ(
        std::count_if(exact.simulated.kept_float.begin(), exact.simulated.kept_float.end(),
                      [&](const KeptFloat& kept) { return kept.node == node; }),
        1)
        << node;
  }
}

TEST_F(RulesOfLayers, OfASearchComeLastAndSoWin) {
  MixedPrecisionPlan plan;
  plan.float_nodes = {"/features/Conv"};
  const Config shared = apply_plan(
      config("layers: [{match: {name: \"/features/*\"}, weights: {bits: 4}}]\n"), plan);
  const auto kept = quantized(shared).simulated.kept_float;
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].node, "/features/Conv");
}

TEST_F(RulesOfLayers, WithoutAMatchAreErrorsHoweverTheModelIsQuantized) {
  const Toolkit& toolkit = Toolkit::builtin();
  const Config good = config("");
  const QuantizeResult result = quantized(good);
  write_table(path("t.yaml"), result);
  Statistics statistics = collect(digits_.simulated, *digits_.data, {.samples = 4});
  const Config wrong = config("layers:\n  - {match: {op: Convv}, keep_float: true}\n");
  const std::string expected =
      "rule 1 (c.yaml:2): no Convv in the model, expected 'Conv', or 'if_present: true' where "
      "it may be missing\n"
      "  while applying 'layers'";
  const auto message = [&](const std::function<void()>& call) {
    return message_of(call, ErrorCode::kInvalidConfig);
  };
  EXPECT_EQ(message([&] { (void)quantized(wrong); }), expected);
  EXPECT_EQ(message([&] { (void)quantize(digits_.model, statistics, wrong, toolkit); }),
            expected);
  EXPECT_EQ(message([&] {
              (void)quantize(digits_.model, TableFile(path("t.yaml")), wrong, toolkit);
            }),
            expected);
  EXPECT_EQ(message([&] { (void)quantize(digits_.model, wrong, toolkit); }), expected);
  EXPECT_EQ(message([&] {
              (void)mixed_precision_plans(digits_.model, *digits_.data, wrong, toolkit);
            }),
            expected);
  EXPECT_EQ(message([&] { (void)simulate_all(digits_.model, wrong, toolkit); }), expected);
  const Config optional =
      config("layers:\n  - {match: {op: Convv}, if_present: true, keep_float: true}\n");
  EXPECT_EQ(quantized(optional).integer, result.integer);
}

TEST(CalibratorOptions, AreCheckedWhereNothingIsQuantized) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
      "%y = LpNormalization(%x) : f32[1,4]\n}");
  const SamplesInMemory data({{"x", Tensor::of<float>({1, 4}, {1, 2, 3, 4})}});
  Config config;
  config.weights.calibrator = {"percentile", {{"percentile", 150}}};
  LayerRule rule;
  rule.name = "y";
  rule.inputs.calibrator = CalibratorChoice{"max", {{"share", 1}}};
  rule.where = "c.yaml:3:5";
  config.layers = {rule};
  try {
    (void)quantize(graph, data, config, Toolkit::builtin());
    FAIL() << "nothing was said";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig);
    EXPECT_STREQ(
        error.what(),
        "weights: calibrator 'percentile': percentile is 150.000000, expected a number "
        "above 0 and up to 100\n"
        "rule 1 (c.yaml:3): calibrator 'max': has no option 'share', expected none\n"
        "  while reading the configuration");
  }
}

}  // namespace
}  // namespace tare::test
