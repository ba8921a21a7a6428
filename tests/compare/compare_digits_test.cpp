#include "tare/error.h"

#include "compare/compare.h"
#include "compare/compared.h"
#include "compare/real_interface.h"
#include "support/files/samples_in_memory.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(CompareDigits, IsTheSameToTheByteForAnyNumberOfThreads) {
  const Compared compared(test_models()[0]);
  const std::string one = report_json(compared.report({.threads = 1, .samples = 100}));
  for (const int threads : {2, 3}) {
    EXPECT_EQ(report_json(compared.report({.threads = threads, .samples = 100})), one);
  }
}

TEST(CompareDigits, NamesTheCalibratorAndWhatOthersWouldChoose) {
  const Compared compared(test_models()[0]);
  const Report report = compared.report({.samples = 16});
  for (const PointReport& point : report.points) {
    EXPECT_EQ(point.calibrator, compared.result.table.at(point.name).calibrator);
    ASSERT_GT(point.alternatives.size(), 3U);
    EXPECT_TRUE(
        std::is_sorted(point.alternatives.begin(), point.alternatives.end(),
                       [](const AlternativeCalibrator& a, const AlternativeCalibrator& b) {
                         return a.error < b.error;
                       }));
    // The calibrator of least squared error is the one that is expected to have it.
    const auto mse =
        std::find_if(point.alternatives.begin(), point.alternatives.end(),
                     [](const AlternativeCalibrator& r) { return r.calibrator == "mse"; });
    EXPECT_LE(mse->error, point.alternatives.front().error * (1 + 1e-9)) << point.name;
    EXPECT_EQ(point.levels, 256U);
    EXPECT_LE(point.effective_bits, std::log2(static_cast<double>(point.levels_used)));
  }
}

TEST(CompareDigits, CountsAgreementAndAccuracyAsTheClassesOfBothNetworksSay) {
  const Compared compared(test_models()[0]);
  const Report report = compared.report({.samples = 60});
  const auto classes = [&](const Graph& graph) {
    std::vector<std::int64_t> result;
    run_dataset(graph, *compared.data, 1, 60, [&](std::size_t, std::vector<Tensor> outputs) {
      const auto scores = outputs[0].to_double();
      result.push_back(std::max_element(scores.begin(), scores.end()) - scores.begin());
    });
    return result;
  };
  const auto real = classes(compared.real());
  const auto quantized = classes(compared.result.integer);
  const auto labels = *compared.data->labels();
  std::uint64_t agreeing = 0;
  std::uint64_t right = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    agreeing += real[i] == quantized[i] ? 1U : 0U;
    right += quantized[i] == labels[i] ? 1U : 0U;
  }
  ASSERT_TRUE(report.outputs[0].agreement);
  EXPECT_EQ(report.outputs[0].agreement->count, agreeing);
  EXPECT_EQ(report.outputs[0].agreement->of, 60U);
  ASSERT_TRUE(report.accuracy);
  EXPECT_EQ(report.accuracy->quantized.count, right);
}

TEST(CompareDigits, SaysWhatItWillMeasureBeforeItReadsSamples) {
  const Compared compared(test_models()[0]);
  std::vector<std::string> names;
  bool has_run = false;
  const CompareOptions options{.samples = 20,
                               .begin =
                                   [&](const Report& known) {
                                     EXPECT_FALSE(has_run);
                                     for (const LayerReport& layer : known.layers) {
                                       names.push_back(layer.name);
                                     }
                                   },
                               .progress = [&](std::size_t, std::size_t) { has_run = true; }};
  const Report report =
      compare(compared.real(), compared.result.integer, *compared.data, {}, options);
  EXPECT_TRUE(has_run);
  ASSERT_EQ(names.size(), report.layers.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i], report.layers[i].name);
  }
}

TEST(CompareOutputs, TakeWhatHasTheShapeOfTheInputForNoScores) {
  const Graph graph = parse(R"(graph "two" opset 17 (%x : f32[1,4]) -> (%same, %fewer) {
  const %w : f32[4,3] = [1,2,3,4,5,6,7,8,9,10,11,12]
  %same = Relu(%x) : f32[1,4]
  %fewer = MatMul(%x, %w) : f32[1,3]
})");
  const SamplesInMemory data({{"x", Tensor::of<float>({2, 4}, {1, 2, 3, 4, 4, 3, 2, 1})}});
  const Report report = compare(graph, graph, data, {});
  EXPECT_FALSE(report.outputs[0].agreement);
  ASSERT_TRUE(report.outputs[1].agreement);
  EXPECT_EQ(report.outputs[1].agreement->count, 2U);
}

TEST(CompareDigits, RefusesModelsThatDoNotBelongTogether) {
  const Compared compared(test_models()[0]);
  Graph other = compared.result.integer;
  TensorType type = other.type(other.outputs()[0]);
  type.shape = {1, 11};
  other.set_type(other.outputs()[0], type);
  EXPECT_THROW((void)compare(compared.real(), other, *compared.data, {}), Error);
}

}  // namespace
}  // namespace tare::test
