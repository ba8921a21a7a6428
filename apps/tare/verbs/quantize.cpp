// Quantizes a model: calibrates it on samples and writes it with integer operators.
#include "tare/error.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/search.h"
#include "tare/statistics.h"

#include "activity.h"
#include "configuration.h"
#include "dry_run.h"
#include "engine_flags.h"
#include "evaluation_samples.h"
#include "forms.h"
#include "outputs.h"
#include "printing/progress.h"
#include "printing/quantize_text.h"
#include "printing/warnings.h"
#include "ranks.h"
#include "report_files.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace tare::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct QuantizeJob {
  std::string model;
  std::string output;
  std::size_t samples = 0;
  int ranks = 1;
  std::string effort{};  ///< as in QuantizeSummary
};

QuantizeSummary summarize(const QuantizeResult& result, const QuantizeJob& job,
                          const Configuration& configuration) {
  QuantizeSummary summary;
  summary.model = job.model;
  summary.output = job.output;
  summary.target = read_target(configuration.config.target).name;
  summary.processor = result.simulated.target.processor;
  summary.recipe = result.recipe;
  summary.effort = job.effort;
  summary.covers_all = configuration.config.objective.value_or(
                           result.simulated.target.objective) == Objective::kCoverage;
  summary.samples = job.samples;
  summary.ranks = job.ranks;
  summary.audit = result.audit;
  summary.verdicts = result.verdicts;
  summary.predicted = predicted_time(result.simulated, result.table,
                                     configuration.toolkit.patterns, result.float_nodes);
  for (const auto& [name, point] : result.table) {
    summary.points += point.enabled ? 1 : 0;
    summary.wide_points += point.enabled && size_of(point.params.storage) == 2 ? 1 : 0;
  }
  const Graph& source = result.simulated.source;
  for (const Region& region : result.simulated.regions) {
    for (const NodeId id : region.match.nodes()) {
      summary.patterns.emplace(source.node(id).name, region.pattern->name);
    }
  }
  for (const DynamicProduct& product : result.simulated.dynamic) {
    summary.patterns.emplace(source.node(product.node).name, "dynamic");
  }
  for (const AccumulatorRange& sums : worst_case_accumulators(result.integer)) {
    summary.sums.push_back(
        {layer_name(result.integer.node(sums.node).name), sums.range.bits()});
  }
  summary.model_bytes = stored_bytes(job.model);
  summary.output_bytes = stored_bytes(job.output);
  return summary;
}

bool has_source(const Options& options) {
  return options.has("data") || options.has("stats") || options.has("table");
}

/// Whether a network can be quantized with no more than its weights, if it has nothing else
/// that is to be: the library says what else needs samples.
bool may_need_no_samples(const Config& config) {
  return config.activations.dynamic || config.weights.block != 0 ||
         std::any_of(config.layers.begin(), config.layers.end(),
                     [](const LayerRule& rule) { return rule.weights.block.value_or(0) != 0; });
}

void require_source(const Options& options, const Config& config) {
  if (!has_source(options) && !may_need_no_samples(config)) {
    throw Error(ErrorCode::kInvalidConfig, "quantize", "option '--data' is missing")
        .expected(
            "samples with '--data', statistics of them with '--stats', or parameters with "
            "'--table'")
        .hint("'--set activations.dynamic=true' needs none");
  }
  if (!options.has("data") && !options.has("eval") && options.has("report")) {
    throw Error(ErrorCode::kInvalidConfig, "quantize",
                "option '--report' needs '--data' or '--eval'")
        .hint("'tare compare' makes a report of a model that is quantized already");
  }
  for (const char* name : {"dry-run", "time"}) {
    if (!options.has("data") && options.has(name)) {
      throw Error(ErrorCode::kInvalidConfig, "quantize",
                  "option '--" + std::string(name) + "' needs '--data'")
          .hint("statistics and tables are of samples that ran already");
    }
  }
  if (!options.has("data") && options.has("samples")) {
    throw Error(ErrorCode::kInvalidConfig, "quantize", "option '--samples' needs '--data'")
        .hint("statistics and tables are of all samples that they were made from");
  }
}

bool writes_statistics(const Options& options) {
  return options.has("data") && options.has("stats");
}
bool writes_table(const Options& options) {
  return options.has("table") && (options.has("data") || options.has("stats"));
}

/// No output may be an input, nor another output. Returns what a report is to be written to.
ReportFiles check_files(const Options& options, const QuantizeJob& job) {
  CommandFiles files;
  files.reads_model(job.model);
  files.reads(options.text("data"));
  files.reads(options.text("eval"));
  add_configuration(options, files);
  files.writes(job.output, Content::kModel);
  if (options.has("data")) {
    files.keeps_beside(job.output, kCheckpoint);
  }
  if (writes_statistics(options)) {
    files.writes(options.text("stats"), Content::kArrays);
  } else {
    files.reads(options.text("stats"));
  }
  if (writes_table(options)) {
    files.writes(options.text("table"), Content::kTable);
  } else {
    files.reads(options.text("table"));
  }
  ReportFiles reports(options, files);
  files.check();
  return reports;
}

/// What a network is quantized from: its float graph, and how that is done by a configuration.
struct Source {
  Graph model;
  std::function<QuantizeResult(const Config&)> quantize;
};

Source from_data(Graph model, const Options& options, const Console& console,
                 const Configuration& configuration, const Dataset& data, Ranks& ranks,
                 QuantizeJob& job) {
  Source source{std::move(model), {}};
  job.samples = data.size();
  const auto pass = [&options, &configuration, &ranks, &job](Progress& progress) {
    return CalibrateOptions{.threads = static_cast<int>(options.count("threads")),
                            .samples = 0,
                            .memory = configuration.config.memory,
                            .checkpoint = job.output + kCheckpoint,
                            .plugins = plugins_of(options),
                            .communicator = ranks.team(),
                            .progress = progress.callback()};
  };
  const Toolkit& toolkit = configuration.toolkit;
  if (!options.has("stats")) {
    source.quantize = [&, pass, graph = source.model](const Config& config) {
      Progress progress(console, "calibrating");
      return quantize(graph, data, config, toolkit, pass(progress));
    };
    return source;
  }
  CalibrationAudit audit;
  Progress progress(console, "calibrating");
  const Statistics statistics =
      collect(simulate_all(source.model, configuration.config, toolkit), data, pass(progress),
              {}, &audit);
  if (ranks.own() == 0) {
    write_statistics(options.text("stats"), statistics);
  }
  source.quantize = [&, statistics, audit, graph = source.model,
                     threads = pass(progress).threads](const Config& config) {
    QuantizeResult result = quantize(graph, statistics, config, toolkit);
    std::vector<Warning>& warnings = result.audit.warnings;
    warnings.insert(warnings.begin(), audit.warnings.begin(), audit.warnings.end());
    for (Warning& warning : audit_inputs(graph, data, threads)) {
      warnings.push_back(std::move(warning));
    }
    return result;
  };
  return source;
}

Source from_statistics(const Options& options, const Configuration& configuration,
                       QuantizeJob& job) {
  Statistics statistics = open_statistics(options.text("stats"));
  job.samples = statistics.samples;
  Source source{load_model(job.model, configuration.config.dims, statistics.inputs), {}};
  source.quantize = [statistics = std::move(statistics), graph = source.model,
                     &configuration](const Config& config) {
    return quantize(graph, statistics, config, configuration.toolkit);
  };
  return source;
}

Source from_table(const Options& options, const Configuration& configuration,
                  QuantizeJob& job) {
  const auto table = std::make_shared<const TableFile>(options.text("table"));
  Source source{load_model(job.model, configuration.config.dims, table->inputs()), {}};
  source.quantize = [&, table, graph = source.model](const Config& config) {
    QuantizeResult result = quantize(graph, *table, config, configuration.toolkit);
    job.samples = result.audit.samples;
    return result;
  };
  return source;
}

Source from_weights(const Configuration& configuration, const QuantizeJob& job) {
  Source source{load_model(job.model, configuration.config.dims, nullptr), {}};
  source.quantize = [&configuration, graph = source.model](const Config& config) {
    return quantize(graph, config, configuration.toolkit);
  };
  return source;
}

Source without_data(const Options& options, const Configuration& configuration,
                    QuantizeJob& job) {
  return options.has("stats")   ? from_statistics(options, configuration, job)
         : options.has("table") ? from_table(options, configuration, job)
                                : from_weights(configuration, job);
}

/// For the engine that is there, or for the costs of the target where it is none.
MeasuredQuantization quantized(const Options& options, const Console& console,
                               const Configuration& configuration, const Source& source,
                               const Dataset* data, const QuantizeJob& job) {
  if (!options.has("engine")) {
    return {.result = source.quantize(configuration.config), .speed = {}};
  }
  Progress progress(console, "measuring", "");
  const auto make = [&](const Config& config) {
    progress.end();
    return source.quantize(config);
  };
  return quantize_for_engine(job.model, source.model, data, configuration.config,
                             configuration.toolkit, make,
                             {.engine = engine_of(options, "engine-threads"),
                              .seconds = static_cast<double>(options.seconds("tune-time")),
                              .form = form_of(options),
                              .progress = progress.callback()});
}

/// How good it is. A report has all samples and figures, otherwise a few have to do.
std::optional<Report> evaluate(const QuantizeResult& result, const EvaluationSamples& samples,
                               bool is_reported, const Options& options, const Console& console,
                               const Configuration& configuration, Communicator* team) {
  const Dataset* const data = samples.evaluating();
  if (data == nullptr) {
    return std::nullopt;
  }
  Progress progress(console, "comparing");
  Report report = compare_result(result, *data, configuration.toolkit,
                                 {.threads = static_cast<int>(options.count("threads")),
                                  .samples = 0,
                                  .communicator = team,
                                  .brief = !is_reported,
                                  .evaluated_on = samples.kind(),
                                  .progress = progress.callback()});
  report.data = samples.file();
  return report;
}

/// What the engine says, if there was one.
void add(QuantizeSummary& summary, const MeasuredQuantization& measured, bool with_engine) {
  summary.has_engine = with_engine;
  summary.speed = measured.speed;
  summary.timed = measured.timed;
  summary.is_known = measured.is_known;
  summary.kept_float = measured.kept_float;
  if (measured.failure) {
    summary.engine_failure = measured.failure->where + ": " + measured.failure->what;
    summary.audit.warnings.push_back(
        {"not_measured", measured.failure->where,
         measured.failure->what + "; the costs of the target decided instead"});
  }
}

void name_files(const QuantizeSummary& summary, Report& report) {
  report.real.file = summary.model;
  report.real.bytes = summary.model_bytes;
  report.quantized.file = summary.output;
  report.quantized.bytes = summary.output_bytes;
}

/// Ranks would measure different times, and disagree.
bool is_shared(const Options& options) {
  return !options.has("engine");
}

int run_quantize(const Options& options, const Console& console) {
  const auto start = Clock::now();
  QuantizeJob job;
  job.model = options.text("MODEL");
  job.output = options.text("output");
  auto summary =
      during("quantizing '" + job.model + "'", [&]() -> std::optional<QuantizeSummary> {
        Ranks ranks(is_shared(options));
        job.ranks = ranks.count();
        const Console spoken = ranks.speaker(console);
        Configuration configuration = read_configuration(options);
        require_source(options, configuration.config);
        const ReportFiles report_files = check_files(options, job);
        const EvaluationSamples samples(options, job.model, configuration.config, spoken);
        const Dataset* data = samples.calibrating();
        std::optional<Graph> model;
        if (data != nullptr) {
          model = load_model(job.model, configuration.config.dims, data);
        }
        if (options.has("dry-run")) {
          say_dry_run(options, job.model, *model, *data, configuration.config,
                      configuration.toolkit, spoken);
          return std::nullopt;
        }
        if (options.has("time")) {
          job.effort = fit_effort(options, *model, *data, configuration, spoken, ranks.team());
        }
        const Source source = data == nullptr ? without_data(options, configuration, job)
                                              : from_data(*std::move(model), options, spoken,
                                                          configuration, *data, ranks, job);
        const MeasuredQuantization measured =
            quantized(options, spoken, configuration, source, data, job);
        if (options.has("require-measured") && measured.failure) {
          throw Error(ErrorCode::kUnsupported, {*measured.failure})
              .hint("without '--require-measured' the costs of the target decide instead");
        }
        const QuantizeResult& result = measured.result;
        if (ranks.own() == 0) {
          if (writes_table(options)) {
            write_table(options.text("table"), result);
          }
          write_model(result, job.output, form_of(options), configuration.toolkit);
          std::filesystem::remove(job.output + kCheckpoint);
        }
        std::optional<Report> quality = evaluate(result, samples, !report_files.empty(),
                                                 options, spoken, configuration, ranks.team());
        std::map<std::string, std::uint64_t> sent = ranks.sent();
        if (ranks.own() != 0) {
          return std::nullopt;  // the first one has the same
        }
        QuantizeSummary made = summarize(result, job, configuration);
        add(made, measured, options.has("engine"));
        made.quality = std::move(quality);
        made.sent = std::move(sent);
        const Dataset* const available = samples.evaluating();
        made.evaluation_samples = available == nullptr ? 0 : available->size();
        if (made.quality) {
          name_files(made, *made.quality);
        }
        if (!report_files.empty()) {
          report_files.write(*made.quality);
        }
        return made;
      });
  if (!summary) {
    return 0;
  }
  summary->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  say_warnings(summary->audit.warnings, console);
  if (options.has("json")) {
    console.print(to_text(as_json(*summary)));
  } else if (!console.is_quiet()) {
    console.print(as_text(*summary, console.out()));
  }
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(quantize) {
  using namespace tare::cli;
  std::vector<Flag> flags{
      data_flag(false),
      {.name = "stats",
       .value = "FILE",
       .summary = "statistics: written if there is --data, otherwise read"},
      {.name = "table",
       .value = "FILE",
       .summary = "table of parameters: written if there is --data or --stats, otherwise read"},
      output_flag("quantized model: ONNX"),
      form_flag(),
      report_flag()};
  append(flags, engine_flags("engine-threads", false));
  append(flags,
         {tune_time_flag("time to find out what the engine runs faster on integers"),
          {.name = "require-measured",
           .summary = "fail, with status 2, where the engine does not measure the result"}});
  append(flags, evaluation_flags());
  append(flags,
         {time_flag("take the most effort that is expected to end within so many seconds, or "
                    "such as 5m: best, or what --effort says, at most"),
          dry_run_flag()});
  append(flags, calibrating_flags());
  return {
      .task = Task::kQuantize,
      .summary = "quantize a float model to int8, calibrated on samples",
      .arguments = {{"MODEL", "float model: ONNX or TensorFlow Lite"}},
      .flags = std::move(flags),
      .examples = {"tare quantize model.onnx --data samples.h5 -o model.int8.onnx",
                   "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --config "
                   "my.yaml --set activations.calibrator=percentile",
                   "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --report "
                   "report.html",
                   "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --holdout "
                   "64",
                   "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --engine "
                   "onnxruntime",
                   "tare quantize model.onnx --stats statistics.h5 -o model.int8.onnx",
                   "tare quantize model.onnx --table table.yaml -o model.int8.onnx"},
      .run = run_quantize,
      .shares_work = is_shared};
}
