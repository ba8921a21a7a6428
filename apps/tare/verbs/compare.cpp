// Says layer by layer how far a quantized model is from the float one.

#include "tare/error.h"
#include "tare/quantize.h"

#include "activity.h"
#include "arithmetic.h"
#include "configuration.h"
#include "printing/progress.h"
#include "printing/report_text.h"
#include "printing/warnings.h"
#include "ranks.h"
#include "report_files.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <utility>

namespace tare::cli {
namespace {

/// What a condition is about has to be there, before samples are spent on it.
void check(const std::vector<ReportCondition>& conditions, const Report& known) {
  for (const ReportCondition& condition : conditions) {
    (void)condition.check(known);
  }
}

/// Accuracy is one figure of many, so the others are worth having without it.
void say_unusable_labels(const Dataset& data, const Console& console) {
  try {
    (void)data.labels();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidData) {
      throw;
    }
    const Fault& fault = error.faults().front();
    say_warnings({{"unusable_labels", fault.where,
                   fault.what + ", expected " + fault.expected + "; they are left out"}},
                 console);
  }
}

/// Files are evaluated as their engine computes, so that this of a configuration would be heard
/// by nobody.
void say_unused_arithmetic(const Config& config, const Options& options,
                           const Console& console) {
  if (!asked_numerics(options)) {
    return;
  }
  const auto say = [&](const char* key, const char* engine) {
    say_warnings(
        {{"unused_arithmetic", key,
          std::string("has no effect here, since engines that run the file ") + engine +
              "; '--numerics configured' computes as the device that it is configured for"}},
        console);
  };
  if (config.requantize != RequantizeConfig{}) {
    say("requantize", "rescale in float32 or as '--numerics' says");
  }
  if (config.accumulator != AccumulatorConfig{}) {
    say("accumulator", "add up in 32 bits");
  }
}

Report compare(const Options& options, const Console& console,
               const Configuration& configuration,
               const std::vector<ReportCondition>& conditions, Communicator* team) {
  const auto& [config, toolkit] = configuration;
  say_unused_arithmetic(config, options, console);
  const std::string real = options.text("FLOAT");
  const auto data = open_samples(options.text("data"), real, config, console);
  say_unusable_labels(*data, console);
  const std::string quantized = options.text("QUANTIZED");
  ComparedModels models{
      .real = load_model(real, config.dims, data.get()),
      .quantized = load_for_numerics(quantized, config.dims, data.get(), options),
      .numerics = asked_numerics(options)};
  say_warnings(invalid_constants(models.real), console);
  say_warnings(audit_tail(models.real), console);
  FileMetadata metadata = read_file_metadata(quantized);
  const Config stated = with_metadata(config, metadata);
  models.factors = std::move(metadata.factors);
  models.arithmetic = std::move(metadata.arithmetic.layers);
  Progress progress(console, "comparing");
  Report report =
      compare_models(std::move(models), *data, stated, toolkit,
                     {.threads = static_cast<int>(options.count("threads")),
                      .samples = options.count("samples"),
                      .communicator = team,
                      .begin = [&](const Report& known) { check(conditions, known); },
                      .progress = progress.callback()});
  name_files(real, quantized, options.text("data"), report);
  return report;
}

void check_annotated(const Options& options) {
  const std::filesystem::path quantized = options.text("QUANTIZED");
  if (options.has("annotate") && quantized.extension() == ".tflite") {
    throw Error(ErrorCode::kInvalidConfig, "'--annotate'",
                "'" + quantized.string() + "' is a TensorFlow Lite model")
        .expected("an ONNX model");
  }
}

int run_compare(const Options& options, const Console& given) {
  return during("comparing '" + options.text("QUANTIZED") + "'", [&] {
    Ranks ranks;
    const Console console = ranks.speaker(given);
    const std::vector<std::string>& wanted = options.all("fail-if");
    const std::vector<ReportCondition> conditions(wanted.begin(), wanted.end());
    const Configuration configuration = read_configuration(options);
    for (const ReportCondition& condition : conditions) {
      say_each(condition.check(empty_report(configuration.toolkit)), console);
    }
    CommandFiles used;
    used.reads_model(options.text("FLOAT"));
    used.reads_model(options.text("QUANTIZED"));
    used.reads(options.text("data"));
    add_configuration(options, used);
    const ReportFiles files(options, used);
    used.writes(options.text("annotate"), Content::kModel);
    used.check();
    check_annotated(options);
    const Report report = compare(options, console, configuration, conditions, ranks.team());
    const std::vector<std::string> reasons =
        conditions.empty() ? std::vector<std::string>{}
                           : conditions_met(conditions, report_json(report));
    if (ranks.own() == 0) {
      files.write(report);
    }
    if (options.has("annotate") && ranks.own() == 0) {
      annotate_model(options.text("QUANTIZED"), options.text("annotate"), report);
    }
    if (options.text("json") == "-") {
      console.print(report_json(report));
    } else {
      console.print(report_text(report, console.out()));
    }
    for (const std::string& reason : reasons) {
      say_failure(reason, console);
    }
    return reasons.empty() ? 0 : 1;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(compare) {
  using namespace tare::cli;
  std::vector<Flag> flags{
      data_flag(true),
      report_flag(),
      {.name = "json", .value = "FILE", .summary = "the report as JSON; - prints it"},
      {.name = "csv", .value = "FILE", .summary = "the report as CSV, one row for each layer"},
      {.name = "overlay",
       .value = "FILE",
       .summary = "the SQNR of each layer as an overlay for Model Explorer: .json"},
      {.name = "annotate",
       .value = "FILE",
       .summary = "a copy of QUANTIZED whose nodes have the figures of their layers, which "
                  "Netron shows: .onnx"},
      {.name = "fail-if",
       .value = "CONDITION",
       .summary = "exit with status 1 if it holds, such as 'output.sqnr<30' or "
                  "'min(layers.local.sqnr)<20'",
       .repeated = true}};
  append(flags, config_flags());
  append(flags, {threads_flag(), samples_flag(), numerics_flag()});
  return {
      .task = Task::kEvaluate,
      .summary = "measure the error of a quantized model against the float one, layer by layer",
      .arguments = {{"FLOAT", "float model: ONNX or TensorFlow Lite"},
                    {"QUANTIZED",
                     "quantized model of it, ours or another tool's: ONNX or TensorFlow "
                     "Lite"}},
      .flags = std::move(flags),
      .examples = {"tare compare model.onnx model.int8.onnx --data samples.h5",
                   "tare compare model.onnx model.int8.onnx --data samples.h5 --report "
                   "report.html",
                   "tare compare model.onnx model.int8.onnx --data samples.h5 --fail-if "
                   "'output.sqnr<30'",
                   "tare compare model.tflite model_int8.tflite --data samples.h5 "
                   "--numerics tflite_ref"},
      .run = run_compare,
      .shares_work = [](const Options&) { return true; }};
}
