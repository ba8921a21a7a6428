#include "tare/report.h"

#include "compare/compared.h"
#include "compare/metric_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// One row of scores of each network.
struct Rows {
  Rows(std::vector<float> a, std::vector<float> b, std::optional<std::int64_t> label = {})
      : real{row(a)}, quantized{row(b)}, label(label) {}
  static Tensor row(const std::vector<float>& values) {
    return Tensor::of<float>({1, static_cast<std::int64_t>(values.size())}, values);
  }
  SampleResults shown() const { return {real, quantized, label}; }

  std::vector<Tensor> real;
  std::vector<Tensor> quantized;
  std::optional<std::int64_t> label;
};

const MetricInfo& metric(std::string_view name) {
  const auto& all = Toolkit::builtin().metrics;
  return *std::find_if(all.begin(), all.end(),
                       [&](const MetricInfo& info) { return info.name == name; });
}

std::optional<double> value_of(std::string_view name, const std::vector<Rows>& samples) {
  const auto instance = metric(name).make();
  for (const Rows& sample : samples) {
    instance->observe(sample.shown());
  }
  return instance->value();
}

std::optional<double> first_score(const SampleResults& results) {
  const auto scores = scores_of(results.quantized[0]);
  return scores ? std::optional(static_cast<double>((*scores)[0])) : std::nullopt;
}

TEST(MeanMetric, IsTheSameHoweverSamplesAreGrouped) {
  std::vector<Rows> samples;
  for (int i = 0; i < 50; ++i) {
    samples.emplace_back(std::vector<float>{0, 0},
                         std::vector<float>{std::ldexp(1.F, i % 40 - 20), 0});
  }
  MeanMetric whole(first_score);
  for (const Rows& sample : samples) {
    whole.observe(sample.shown());
  }
  for (const std::size_t step : {2, 3, 7}) {
    MeanMetric sum(first_score);
    for (std::size_t first = step; first-- > 0;) {
      MeanMetric part(first_score);
      for (std::size_t i = first; i < samples.size(); i += step) {
        part.observe(samples[i].shown());
      }
      sum.merge(part);
    }
    EXPECT_EQ(sum.value(), whole.value()) << step;
  }
}

TEST(MeanMetric, IsNotDefinedWhereASampleIsNot) {
  const Rows good({1, 2}, {4, 2});
  const Rows alone({1}, {1});
  const Rows infinite({1, 2}, {std::numeric_limits<float>::infinity(), 2});
  EXPECT_EQ(MeanMetric(first_score).value(), std::nullopt) << "of no samples";
  for (const Rows& bad : {alone, infinite}) {
    MeanMetric mean(first_score);
    mean.observe(good.shown());
    EXPECT_EQ(mean.value(), 4);
    mean.observe(bad.shown());
    EXPECT_EQ(mean.value(), std::nullopt);
    MeanMetric sum(first_score);
    sum.observe(good.shown());
    sum.merge(mean);
    EXPECT_EQ(sum.value(), std::nullopt);
  }
}

TEST(OutputKl, IsTheDivergenceOfTheSoftmaxes) {
  const auto softmax = [](std::vector<double> x) {
    double sum = 0;
    for (double& each : x) {
      each = std::exp(each);
      sum += each;
    }
    for (double& each : x) {
      each /= sum;
    }
    return x;
  };
  const auto p = softmax({1, 2, -1});
  const auto q = softmax({0.5, 2.5, -1});
  double expected = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    expected += p[i] * std::log(p[i] / q[i]);
  }
  // A few roundings in double of numbers up to 3.
  EXPECT_NEAR(value_of("output.kl", {{{1, 2, -1}, {0.5F, 2.5F, -1}}}).value(), expected, 1e-14);
  EXPECT_NEAR(
      value_of("output.kl", {{{1, 2, -1}, {0.5F, 2.5F, -1}}, {{4, 5, 7}, {4, 5, 7}}}).value(),
      expected / 2, 1e-14);
}

TEST(OutputKl, TakesDistributionsAsTheyAre) {
  const double expected = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  EXPECT_NEAR(value_of("output.kl", {{{0.5F, 0.5F}, {0.25F, 0.75F}}}).value(), expected, 1e-14);
}

TEST(OutputKl, IsFiniteWhereRoundingLeavesNothingOfAProbability) {
  const auto found = value_of("output.kl", {{{0.999F, 0.001F}, {1, 0}}});
  // 0.001 ln(0.001 / 2^-24), and 0.999 ln 0.999.
  EXPECT_NEAR(found.value(), 0.001 * std::log(0.001 * 0x1p24) + 0.999 * std::log(0.999), 1e-6);
}

TEST(OutputKl, IsNeverNegativeAndZeroForEqualResults) {
  EXPECT_EQ(value_of("output.kl", {{{1, -50, 3}, {1, -50, 3}}}), 0);
  EXPECT_EQ(value_of("output.kl", {{{1e30F, -1e30F}, {1e30F, -1e30F}}}), 0);
}

TEST(OutputKl, IsNotDefinedForSingleNumbers) {
  EXPECT_EQ(value_of("output.kl", {{{1}, {1}}}), std::nullopt);
}

TEST(Top1Agreement, IsTheShareOfSamplesWithTheSameTopClass) {
  EXPECT_EQ(
      value_of("top1.agreement",
               {{{1, 2}, {0, 5}}, {{1, 2}, {5, 0}}, {{3, 3}, {3, 2}}, {{7, 0, 1}, {1, 0, 0}}}),
      75);
}

TEST(MetricSums, ShowEachSampleOfABatchAsABatchOfOneWithItsLabel) {
  struct Seen {
    Shape shape;
    std::vector<float> real;
    std::vector<float> quantized;
    std::optional<std::int64_t> label;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> observed;
  const std::vector<MetricInfo> infos{
      {.name = "spy", .summary = "", .make = [&] {
         return std::make_unique<MeanMetric>([&](const SampleResults& results) {
           observed.push_back({results.real[0].shape(), results.real[0].to_float(),
                               results.quantized[0].to_float(), results.label});
           return std::optional(1.0);
         });
       }}};
  const std::optional<std::vector<std::int64_t>> labels{{7, 8, 9, 10}};
  MetricSums sums(infos, labels, 2, {});
  const std::vector<Tensor> results{Tensor::of<float>({2, 2}, {1, 2, 3, 4}),
                                    Tensor::of<std::int8_t>({2, 2}, {5, 6, 7, 8})};
  sums.observe({}, results, 2);
  EXPECT_EQ(observed,
            (std::vector<Seen>{{{1, 2}, {1, 2}, {5, 6}, 9}, {{1, 2}, {3, 4}, {7, 8}, 10}}));
  ASSERT_EQ(sums.reports().size(), 1U);
  EXPECT_EQ(sums.reports()[0].name, "spy");
  EXPECT_EQ(sums.reports()[0].value, 1);
}

TEST(Metrics, OfAReportAreThoseOfBothNetworksOnAllSamplesForAnyThreads) {
  const Compared compared(test_models()[0]);
  const Report report = compared.report({.threads = 2, .samples = 100});
  std::vector<std::vector<float>> real;
  const auto run = [&](const Graph& graph, const auto& take) {
    run_dataset(graph, *compared.data, 1, 100, take);
  };
  run(compared.real(),
      [&](std::size_t, std::vector<Tensor> outputs) { real.push_back(outputs[0].to_float()); });
  std::vector<Rows> samples;
  run(compared.result.integer, [&](std::size_t index, std::vector<Tensor> outputs) {
    samples.emplace_back(real[index], outputs[0].to_float());
  });
  ASSERT_EQ(report.metrics.size(), Toolkit::builtin().metrics.size());
  for (const MetricReport& found : report.metrics) {
    const auto expected = value_of(found.name, samples);
    if (found.name.starts_with("perplexity") || found.name == "tokens.agreement") {
      EXPECT_FALSE(expected || found.value) << found.name << " of no language model";
      continue;
    }
    ASSERT_TRUE(expected && found.value) << found.name;
    // The comparison may run the float network with other roundings.
    EXPECT_NEAR(*found.value, *expected, 1e-3 * std::abs(*expected) + 1e-9) << found.name;
  }
  const Report again = compared.report({.threads = 3, .samples = 100});
  for (std::size_t i = 0; i < report.metrics.size(); ++i) {
    EXPECT_EQ(again.metrics[i].value, report.metrics[i].value);
  }
  const std::string json = report_json(report);
  EXPECT_FALSE(ReportCondition("output.kl<0").met_by(json));
  EXPECT_TRUE(ReportCondition("top1.agreement<=100").met_by(json));
  EXPECT_EQ(ReportCondition("top1.agreement<=" +
                            std::to_string(100 * report.outputs[0].agreement->share()))
                .met_by(json)
                .has_value(),
            true);
}

}  // namespace
}  // namespace tare::test
