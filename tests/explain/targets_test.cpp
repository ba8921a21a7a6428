#include "tare/dataset.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "support/config.h"
#include "support/files/models.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Every model with every target.
class Targets : public ::testing::TestWithParam<std::tuple<TestModel, std::string>> {
 protected:
  static QuantizeResult quantized(const std::vector<std::string>& settings) {
    const auto& [model, target] = GetParam();
    const auto data = open_dataset(model.calibration);
    std::vector<std::string> all{"target=" + target, "accuracy.effort=fast"};
    all.insert(all.end(), settings.begin(), settings.end());
    const Config config = config_with(all);
    return quantize(load_model(model.model, {}, data.get()), *data, config, Toolkit::builtin(),
                    {.samples = 2});
  }
};

Graph file(const QuantizeResult& result, const Target& target) {
  return export_form(result.integer, Form::kQdq, target);
}

std::string text(const std::vector<LintFinding>& findings) {
  std::string result;
  for (const LintFinding& finding : findings) {
    result += finding.node + ": " + finding.rule + ": " + finding.what + "\n";
  }
  return result;
}

TEST_P(Targets, GetFilesThatKeepTheirRules) {
  const Target target = read_target(std::get<1>(GetParam()));
  EXPECT_EQ(text(lint(file(quantized({}), target), target)), "");
}

TEST_P(Targets, RunEveryQuantizedProductOnIntegers) {
  const QuantizeResult result = quantized({});
  const Target target = read_target(std::get<1>(GetParam()));
  std::size_t regions = 0;
  for (const Region& region : result.simulated.regions) {
    regions += region.pattern->follows_neighbours ? 0 : 1;
  }
  std::size_t on_integers = 0;
  for (const Verdict& verdict : verdicts(file(result, target), target)) {
    const bool is_product = verdict.op == "Conv" || verdict.op == "Gemm" ||
                            verdict.op == "MatMul" || verdict.op == "ConvTranspose";
    on_integers += is_product && verdict.because.empty() ? 1 : 0;
    EXPECT_NE(verdict.runs_as.empty(), verdict.because.empty()) << verdict.node;
  }
  EXPECT_EQ(on_integers, regions);
  EXPECT_GT(regions, 0U);
}

TEST_P(Targets, AreExplainedForFloatGraphsAsForTheFilesThatTheyBecome) {
  const QuantizeResult result = quantized({});
  const Target target = read_target(std::get<1>(GetParam()));
  std::map<std::string, bool> in_file;
  for (const Verdict& verdict : verdicts(file(result, target), target)) {
    in_file.emplace(layer_name(verdict.node), verdict.because.empty());
  }
  for (const Verdict& verdict : verdicts(result.simulated)) {
    const bool is_part = verdict.runs_as.starts_with("part of");
    if (const auto found = in_file.find(verdict.node); found != in_file.end() && !is_part) {
      EXPECT_EQ(verdict.because.empty(), found->second)
          << verdict.node << ": " << verdict.because;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Targets,
                         ::testing::Combine(::testing::ValuesIn(test_models()),
                                            ::testing::ValuesIn(target_names())),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param).name + "_" + std::get<1>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tare::test
