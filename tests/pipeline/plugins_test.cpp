

#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"

namespace tare::test {
namespace {

using Plugins = InFolder;

Toolkit with_plugin() {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({TARE_TEST_HALF_OF_MAX}, toolkit);
  return toolkit;
}

TEST_F(Plugins, ChooseRangesLikeBuiltInCalibrators) {
  const Digits digits;
  Config config;
  config.activations.calibrator.name = "half_of_max";
  config.schedule = Schedule::kIndependent;  // the other one widens ranges by a hair
  const QuantTable table =
      quantize(digits.model, *digits.data, config, with_plugin(), {.samples = 5}).table;
  const PointResult& input = table.at(digits.model.name(digits.model.inputs()[0]));
  EXPECT_EQ(input.calibrator, "half_of_max");
  EXPECT_EQ(input.calibrated[0].high, input.observed[0].high / 2);
}

TEST_F(Plugins, MayLookAtTheValuesThemselves) {
  const Digits digits;
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({TARE_TEST_MEAN_OF_QUANTILES}, toolkit);
  Config config;
  config.activations.calibrator.name = "mean_of_quantiles";
  config.schedule = Schedule::kIndependent;
  const std::string input = digits.model.name(digits.model.inputs()[0]);
  double expected = 0;
  for (std::size_t sample = 0; sample < 30; ++sample) {
    std::vector<float> values = digits.data->read(input, sample, 1).to_float();
    std::sort(values.begin(), values.end());
    expected += static_cast<double>(values[values.size() - 1 - values.size() / 100]) / 30;
  }
  const CalibrateOptions one_thread{.threads = 1, .samples = 30};
  const CalibrateOptions three_threads{.threads = 3, .samples = 30};
  const QuantTable table =
      quantize(digits.model, *digits.data, config, toolkit, one_thread).table;
  // The sum is rounded once here and thirty times there.
  EXPECT_NEAR(table.at(input).calibrated[0].high, expected, 30 * 0x1p-52 * expected);
  for (const Schedule schedule : {Schedule::kIndependent, Schedule::kSequential}) {
    config.schedule = schedule;
    EXPECT_EQ(quantize(digits.model, *digits.data, config, toolkit, one_thread).table,
              quantize(digits.model, *digits.data, config, toolkit, three_threads).table);
  }
}

TEST_F(Plugins, ThatLookAtTheValuesRefuseStatistics) {
  const Digits digits;
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({TARE_TEST_MEAN_OF_QUANTILES}, toolkit);
  Config config;
  config.activations.calibrator.name = "mean_of_quantiles";
  const Statistics statistics = collect(digits.simulated, *digits.data, {.samples = 5});
  EXPECT_EQ(
      message_of([&] { (void)quantize(digits.model, statistics, config, toolkit); },
                 ErrorCode::kInvalidConfig),
      "calibrator 'mean_of_quantiles': looks at the values themselves, expected samples in "
      "place of statistics, and to be asked for by its own name\n  while calibrating");
}

TEST_F(Plugins, EvaluateResultsWithLabelsLikeBuiltInMetrics) {
  const Digits digits;
  const auto labelled = open_dataset(Digits::file("digits_evaluation.h5"));
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({TARE_TEST_RIGHT_IN_TWO}, toolkit);
  const QuantizeResult result =
      quantize(digits.model, *digits.data, {}, toolkit, {.samples = 20});
  std::vector<std::int64_t> labels = *labelled->labels();
  double right = 0;
  run_dataset(result.integer, *labelled, 1, 0,
              [&](std::size_t run, std::vector<Tensor> outputs) {
                std::vector<float> scores = outputs[0].to_float();
                const float own = scores.at(static_cast<std::size_t>(labels.at(run)));
                std::sort(scores.rbegin(), scores.rend());
                right += own >= scores[1] ? 1 : 0;
              });
  const Report report = compare_result(result, *labelled, toolkit);
  ASSERT_EQ(report.metrics.back().name, "right_in_two");
  EXPECT_EQ(report.metrics.back().value, right / static_cast<double>(labels.size()));

  const auto required = ReportCondition("right_in_two>=0.8").negated();
  required.check(report);
  EXPECT_FALSE(required.met_by(report_json(report)));
  EXPECT_TRUE(ReportCondition("right_in_two>=1.01").negated().met_by(report_json(report)));

  const Report unlabelled = compare_result(result, *digits.data, toolkit);
  EXPECT_EQ(unlabelled.metrics.back().value.has_value(), digits.data->labels().has_value());
}

TEST_F(Plugins, ThatAreNoneOfThisVersionSayWhatIsMissing) {
  Toolkit toolkit = Toolkit::builtin();
  const std::string message = message_of([&] { load_plugins({TARE_TEST_NO_PLUGIN}, toolkit); },
                                         ErrorCode::kInvalidConfig);
  EXPECT_NE(message.find("is no calibrator or metric for this version, expected a function "
                         "tare_plugin_1 or tare_metric_1"),
            std::string::npos)
      << message;
}

TEST_F(Plugins, CannotTakeANameThatExists) {
  Toolkit toolkit = with_plugin();
  EXPECT_NE(message_of([&] { load_plugins({TARE_TEST_HALF_OF_MAX}, toolkit); },
                       ErrorCode::kInvalidConfig)
                .find("calibrator 'half_of_max' exists already"),
            std::string::npos);
  load_plugins({TARE_TEST_RIGHT_IN_TWO}, toolkit);
  EXPECT_NE(message_of([&] { load_plugins({TARE_TEST_RIGHT_IN_TWO}, toolkit); },
                       ErrorCode::kInvalidConfig)
                .find("metric 'right_in_two' exists already"),
            std::string::npos);
}

TEST_F(Plugins, ThatCannotBeLoadedSayWhy) {
  Toolkit toolkit = Toolkit::builtin();
  EXPECT_EQ(message_of([&] { load_plugins({path("no.so")}, toolkit); }, ErrorCode::kIo),
            "no.so: no such file");
  write_bytes(path("text.so"), "no library");
  EXPECT_EQ(message_of([&] { load_plugins({path("text.so")}, toolkit); }, ErrorCode::kIo)
                .substr(0, 37),
            "plug-in 'text.so': cannot be loaded: ");
}

TEST_F(Plugins, OfAConfigurationAreRelativeToItsFile) {
  write_bytes(path("c.yaml"),
              "plugins: [mine.so, /absolute/other.so]\nactivations: [faulty]\n");
  EXPECT_EQ(read_plugins(path("c.yaml"), {}),
            (std::vector<std::filesystem::path>{path("mine.so"), "/absolute/other.so"}));
  EXPECT_EQ(read_plugins(path("c.yaml"), {"plugins=[a.so]"}),
            (std::vector<std::filesystem::path>{"a.so"}));
  EXPECT_TRUE(read_plugins({}, {"activations.calibrator=max"}).empty());
}

TEST_F(Plugins, OfAConfigurationAreRefusedUnlessItIsTrusted) {
  write_bytes(path("c.yaml"), "version: 1\nplugins:\n- mine.so\n- other.so\n");
  EXPECT_EQ(message_of([&] { refuse_plugins_of_file(path("c.yaml"), {}); },
                       ErrorCode::kInvalidConfig),
            "c.yaml:3:3: plug-in 'mine.so' would run as part of this program\n"
            "c.yaml:4:3: plug-in 'other.so' would run as part of this program\n"
            "  hint: give '--allow-plugins' if you trust this file and what it names");
  // The command line is the user's own, and says what is loaded in place of the file.
  refuse_plugins_of_file(path("c.yaml"), {"plugins=[a.so]"});
  refuse_plugins_of_file(path("c.yaml"), {"plugins=[]"});
  EXPECT_TRUE(read_plugins(path("c.yaml"), {"plugins=[]"}).empty());
  write_bytes(path("none.yaml"), "plugins: []\n");
  refuse_plugins_of_file(path("none.yaml"), {});
  refuse_plugins_of_file({}, {});
}

}  // namespace
}  // namespace tare::test
