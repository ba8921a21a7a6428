#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/report.h"

#include "support/config.h"
#include "support/files/folder.h"
#include "support/files/models.h"
#include "support/files/samples_in_memory.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const Toolkit& toolkit() {
  return Toolkit::builtin();
}

std::string text(const OperatorCount& count) {
  return std::to_string(count.on_integers) + " of " + std::to_string(count.all);
}

std::multiset<std::string> float_names(const std::vector<Verdict>& verdicts) {
  std::multiset<std::string> names;
  for (const Verdict& verdict : verdicts) {
    if (verdict.in_float()) {
      names.insert(verdict.node);
    }
  }
  return names;
}

struct Case {
  TestModel model;
  std::string target;
  std::string objective;

  friend void PrintTo(const Case& c, std::ostream* out) {
    *out << c.model.name << " " << c.target << " " << c.objective;
  }
};

class OperatorCounts : public InFolder, public ::testing::WithParamInterface<Case> {
 protected:
  OperatorCounts() {
    // Nothing is left in float for what samples show, which a float graph cannot know.
    config_ = config_with({"accuracy.slowdown=0", "accuracy.effort=fast"});
    config_.target = GetParam().target;
    config_.objective =
        GetParam().objective == "coverage" ? Objective::kCoverage : Objective::kLatency;
    data_ = open_dataset(GetParam().model.calibration);
    model_ = load_model(GetParam().model.model, {}, data_.get());
  }

  Config config_;
  std::unique_ptr<Dataset> data_;
  Graph model_;
};

/// Before it is quantized, when it is, as a file in any form, and in a report.
TEST_P(OperatorCounts, AreTheSameWhoeverCounts) {
  const Target target = read_target(config_.target);
  const QuantizeResult result = quantize(model_, *data_, config_, toolkit(), {.samples = 2});
  const std::vector<Verdict> made = result.verdicts;
  const std::vector<Verdict> before =
      verdicts(simulate(prepare(model_, toolkit()), config_, target, toolkit().patterns));
  EXPECT_EQ(text(count_operators(before)), text(count_operators(made)));
  EXPECT_EQ(float_names(before), float_names(made));

  for (const Form form : {Form::kQdq, Form::kQoperator}) {
    write_onnx(export_form(result.integer, form, result.simulated.target), path("q.onnx"));
    const Graph file = load_model(path("q.onnx"), {}, data_.get());
    const std::vector<Verdict> read = verdicts_of_file(file, target, toolkit());
    EXPECT_EQ(text(count_operators(read)), text(count_operators(made)));
    EXPECT_EQ(float_names(read), float_names(made));
    if (form == Form::kQdq) {
      const Report report = compare_models(
          {.real = model_, .quantized = file, .factors = result.factors, .numerics = {}},
          *data_, config_, toolkit(), {.samples = 2});
      EXPECT_EQ(report.quantized.operators, count_operators(made).all);
      EXPECT_EQ(report.quantized.integer_operators, count_operators(made).on_integers);
      EXPECT_EQ(report.float_operators.size(), float_names(made).size());
    }
  }
  const Report report = compare_result(result, *data_, toolkit(), {.samples = 2});
  EXPECT_EQ(report.quantized.operators, count_operators(made).all);
  EXPECT_EQ(report.quantized.integer_operators, count_operators(made).on_integers);
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const TestModel& model : test_models()) {
    for (const char* target : {"ort-cpu", "qnn", "tensorrt"}) {
      result.push_back({model, target, "latency"});
    }
    result.push_back({model, "ort-cpu", "coverage"});
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, OperatorCounts, ::testing::ValuesIn(cases()),
                         [](const auto& info) {
                           std::string name = info.param.model.name + "_" + info.param.target +
                                              "_" + info.param.objective;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// An operator that no pattern covers, between two that one does.
TEST(Operators, ThatNoPatternCoversAreInFloatLikeOthers) {
  const Graph model = parse(
      "graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
      "const %w : f32[4,4] = [1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4, 4, 3, 2, 1]\n"
      "a: %a = MatMul(%x, %w) : f32[1,4]\n"
      "s: %s = Sinh(%a) : f32[1,4]\n"
      "b: %y = MatMul(%s, %w) : f32[1,4]\n}");
  Config config;
  config.objective = Objective::kCoverage;
  const SamplesInMemory data({{"x", Tensor::of<float>({2, 4}, {0, 1, 2, 3, 3, 2, 1, 0})}});
  const QuantizeResult result = quantize(model, data, config, toolkit());
  EXPECT_TRUE(result.simulated.kept_float.empty());
  const std::vector<Verdict> all = result.verdicts;
  EXPECT_EQ(text(count_operators(all)), "2 of 3");
  EXPECT_EQ(float_names(all), std::multiset<std::string>{"s"});
}

TEST(Operators, ThatOlderFilesSpellWithOthersAreWholeWhereCoverageIsTheObjective) {
  const auto gelu = [](int opset) {
    return parse("graph \"g\" opset " + std::to_string(opset) +
                 " (%x : f32[1,4]) -> (%y) {\n"
                 "const %w : f32[4,4] = [1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4, 4, 3, 2, 1]\n"
                 "a: %a = MatMul(%x, %w) : f32[1,4]\n"
                 "g: %g = Gelu(%a) : f32[1,4]\n"
                 "b: %y = MatMul(%g, %w) : f32[1,4]\n}");
  };
  Config config;
  config.target = "qnn";
  const SamplesInMemory data({{"x", Tensor::of<float>({2, 4}, {0, 1, 2, 3, 3, 2, 1, 0})}});
  const auto count = [&](int opset) {
    return text(count_operators(quantize(gelu(opset), data, config, toolkit()).verdicts));
  };
  EXPECT_EQ(count(17), "3 of 3");
  EXPECT_EQ(count(20), "3 of 3");
}

TEST(Operators, InFloatAreGroupedByReason) {
  const auto verdict = [](const char* node, const char* because) {
    return Verdict{.node = node, .op = "Conv", .runs_as = {}, .because = because};
  };
  const std::vector<Verdict> all{verdict("a", "one"), verdict("b", "two"), verdict("c", ""),
                                 verdict("d", "two")};
  const std::vector<FloatGroup> groups = float_groups(all);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].reason, "two");
  ASSERT_EQ(groups[0].operators.size(), 2U);
  EXPECT_EQ(groups[0].operators[1]->node, "d");
  EXPECT_EQ(groups[1].reason, "one");
}

}  // namespace
}  // namespace tare::test
