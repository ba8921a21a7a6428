

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

/// The larger of two sums of products, behind two negations.
Graph largest_of_two() {
  return parse(R"(graph "g" opset 17 (%x : f32[1,2]) -> (%y) {
  const %v : f32[2,2] = [0.5, -1, 0.25, 2]
  const %w : f32[2,2] = [1, 1.5, -0.75, 0.125]
  %n = Neg(%x) : f32[1,2]
  %p = Neg(%n) : f32[1,2]
  %a = MatMul(%p, %v) : f32[1,2]
  %b = MatMul(%p, %w) : f32[1,2]
  %y = Max(%a, %b) : f32[1,2]
}
)");
}

SamplesInMemory some_samples() {
  std::vector<float> values;
  for (int i = 0; i < 8; ++i) {
    const float x = static_cast<float>(i) / 4;
    values.insert(values.end(), {x - 1, 1.5F - x});
  }
  return SamplesInMemory({{"x", Tensor::of<float>({8, 2}, values)}});
}

bool has_region(const QuantizeResult& result, std::string_view pattern) {
  const auto& regions = result.simulated.regions;
  return std::any_of(regions.begin(), regions.end(),
                     [&](const Region& region) { return region.pattern->name == pattern; });
}

TEST_F(Plugins, MayAddSeveralPartsWhichAllTakePart) {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({TARE_TEST_SEVERAL_PARTS}, toolkit);
  const SamplesInMemory samples = some_samples();
  for (const std::string& target : target_names()) {
    Config config;
    config.target = target;
    config.objective = Objective::kCoverage;
    config.activations.calibrator.name = "symmetric_max";
    const QuantizeResult result = quantize(largest_of_two(), samples, config, toolkit);
    EXPECT_TRUE(has_region(result, "maximum")) << target;
    EXPECT_EQ(result.prepared.find_node("n"), std::nullopt);
    const Range input = result.table.at("x").calibrated[0];
    EXPECT_EQ(input.low, -input.high);
    Config without_plugin = config;
    without_plugin.activations.calibrator.name = "max";
    EXPECT_FALSE(has_region(
        quantize(largest_of_two(), samples, without_plugin, Toolkit::builtin()), "maximum"));
  }
}

TEST_F(Plugins, PatternsSayOnWhichTargetsTheyAre) {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({TARE_TEST_SEVERAL_PARTS}, toolkit);
  toolkit.patterns.back().targets = {"qnn"};
  write_bytes(path("mine.yaml"), "extends: qnn\n");
  write_bytes(path("listed.yaml"), "extends: tensorrt\npatterns: [matmul, maximum]\n");
  const auto uses = [&](const std::string& target) {
    Config config;
    config.target = target;
    config.objective = Objective::kCoverage;
    return has_region(quantize(largest_of_two(), some_samples(), config, toolkit), "maximum");
  };
  EXPECT_TRUE(uses("qnn"));
  EXPECT_TRUE(uses(path("mine.yaml").string()));
  EXPECT_TRUE(uses(path("listed.yaml").string()));
  EXPECT_FALSE(uses("ort-cpu"));
  EXPECT_FALSE(uses("tensorrt"));
}

TEST_F(Plugins, GiveTheSameFilesAsThePatternsOfTheTree) {
  const Digits digits;
  Toolkit toolkit = Toolkit::builtin();
  toolkit.patterns.clear();
  load_plugins({TARE_TEST_PATTERNS}, toolkit);
  ASSERT_EQ(toolkit.patterns.size(), Toolkit::builtin().patterns.size());
  for (const std::string& target : target_names()) {
    Config config;
    config.target = target;
    write_model(quantize(digits.model, *digits.data, config, toolkit, {.samples = 10}),
                path("outside.onnx"));
    write_model(
        quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 10}),
        path("inside.onnx"));
    EXPECT_EQ(bytes_of(path("outside.onnx")), bytes_of(path("inside.onnx"))) << target;
  }
}

TEST_F(Plugins, TargetFilesNamePatternsThatExist) {
  write_bytes(path("mine.yaml"), "extends: qnn\npatterns: [conv, maximum, densse]\n");
  Config config;
  config.target = path("mine.yaml").string();
  EXPECT_EQ(
      message_of([&] { (void)target_of(config, Toolkit::builtin()); },
                 ErrorCode::kInvalidConfig),
      "mine.yaml: unknown pattern 'maximum', expected a built-in one, or one of a plug-in\n"
      "  hint: did you mean 'matmul'?\n"
      "mine.yaml: unknown pattern 'densse', expected a built-in one, or one of a plug-in\n"
      "  hint: did you mean 'dense'?");
}

TEST_F(Plugins, ThatAreNoneSayWhatIsMissing) {
  for (const char* file : {TARE_TEST_NO_PLUGIN, TARE_TEST_BAD_SYMBOL}) {
    Toolkit toolkit = Toolkit::builtin();
    const std::string message =
        message_of([&] { load_plugins({file}, toolkit); }, ErrorCode::kInvalidConfig);
    EXPECT_NE(message.find("is no plug-in, expected 'tare_plugin_abi' and 'tare_plugin', which "
                           "TARE_PLUGIN_ENTRY makes"),
              std::string::npos)
        << message;
  }
}

TEST_F(Plugins, OfAnotherVersionAreNotCalled) {
  Toolkit toolkit = Toolkit::builtin();
  const std::string message = message_of(
      [&] { load_plugins({TARE_TEST_BAD_VERSION}, toolkit); }, ErrorCode::kInvalidConfig);
  EXPECT_NE(message.find("is made for version " + std::to_string(TARE_PLUGIN_ABI + 1) +
                         " of the interface to plug-ins, expected version " +
                         std::to_string(TARE_PLUGIN_ABI)),
            std::string::npos)
      << message;
}

TEST_F(Plugins, ThatFailToStartSayWhy) {
  Toolkit toolkit = Toolkit::builtin();
  const auto message = [&](const char* file) {
    return message_of([&] { load_plugins({file}, toolkit); }, ErrorCode::kInvalidConfig);
  };
  EXPECT_NE(
      message(TARE_TEST_BAD_ENTRY).find("its entry point threw an exception: no licence found"),
      std::string::npos);
  EXPECT_NE(message(TARE_TEST_BAD_NOTHING).find("adds nothing"), std::string::npos);
}

/// What quantizing with that plug-in says.
std::string message_with(const char* file, const Config& config) {
  const Digits digits;
  Toolkit toolkit = Toolkit::builtin();
  load_plugins({file}, toolkit);
  return message_of(
      [&] { (void)quantize(digits.model, *digits.data, config, toolkit, {.samples = 4}); },
      ErrorCode::kInvalidConfig);
}

TEST_F(Plugins, ThatThrowWhileTheyAreUsedAreNamed) {
  EXPECT_NE(message_with(TARE_TEST_BAD_PATTERN, {})
                .find("pattern 'thrower' threw an exception: no such kernel"),
            std::string::npos);
}

TEST_F(Plugins, WithRulesThatNeverEndAreNamed) {
  const std::string message = message_with(TARE_TEST_BAD_LOOP, {});
  EXPECT_NE(message.find("bad_loop"), std::string::npos) << message;
  EXPECT_NE(message.find("rule 'restless' or another of its benefit still fires"),
            std::string::npos)
      << message;
}

TEST_F(Plugins, WithCalibratorsThatAnswerNaNAreNamed) {
  Config activations;
  activations.activations.calibrator.name = "no_number";
  Config weights;
  weights.weights.calibrator.name = "no_number";
  for (const Config& config : {activations, weights}) {
    const std::string message = message_with(TARE_TEST_BAD_CALIBRATOR, config);
    EXPECT_NE(message.find("calibrator 'no_number': gives '"), std::string::npos) << message;
    EXPECT_NE(message.find("' the range [nan, "), std::string::npos) << message;
  }
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
