// Quantizes a model: calibrates it on samples and writes it with integer operators.
#include "tare/error.h"
#include "tare/lint.h"
#include "tare/pipeline.h"

#include "activity.h"
#include "configuration.h"
#include "forms.h"
#include "outputs.h"
#include "progress.h"
#include "report_files.h"
#include "text.h"
#include "verb.h"
#include "warnings.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace tare::cli {
namespace {

/// What became of the operators, in the order of the graph.
struct Summary {
  struct Quantized {
    std::string node;
    std::string op;
    std::string pattern;
  };
  std::vector<Quantized> quantized;
  std::vector<KeptFloat> kept_float;
  std::size_t points = 0;
  struct Sums {
    std::string node;
    int bits = 0;  ///< that hold any of them
  };
  std::vector<Sums> sums;
};

std::string disabled_by(const std::string& point) {
  return "the table disables '" + point + "'";
}

/// A table switches regions off by their points.
KeptFloat disabled(const QuantizeResult& result, const Region& region) {
  const auto point =
      std::find_if(region.points.begin(), region.points.end(),
                   [&](const std::string& name) { return !result.table.at(name).enabled; });
  return {result.simulated.source.node(region.match.root()).name, disabled_by(*point)};
}

/// Regions may share nodes; each counts once.
Summary summarize(const QuantizeResult& result) {
  Summary summary;
  summary.kept_float = result.simulated.kept_float;
  for (const auto& [name, point] : result.table) {
    summary.points += point.enabled ? 1 : 0;
  }
  std::set<NodeId> seen;
  for (const Region& region : result.simulated.regions) {
    if (!is_enabled(region, result.table)) {
      summary.kept_float.push_back(disabled(result, region));
      continue;
    }
    for (const NodeId id : region.match.nodes()) {
      if (seen.insert(id).second) {
        const Node& node = result.simulated.source.node(id);
        summary.quantized.push_back({node.name, node.op, std::string(region.pattern->name)});
      }
    }
  }
  for (const DynamicProduct& product : result.simulated.dynamic) {
    const Node& node = result.simulated.source.node(product.node);
    if (result.table.at(product.weight).enabled) {
      summary.quantized.push_back({node.name, node.op, "dynamic"});
    } else {
      summary.kept_float.push_back({node.name, disabled_by(product.weight)});
    }
  }
  for (const ProductSums& sums : guaranteed_sums(result.integer)) {
    summary.sums.push_back(
        {layer_name(result.integer.node(sums.node).name), sums.range.bits()});
  }
  return summary;
}

/// "22 bits hold every sum; the widest are those of stem"
std::string widest_sums(const Summary& summary) {
  const auto widest = std::max_element(
      summary.sums.begin(), summary.sums.end(),
      [](const Summary::Sums& a, const Summary::Sums& b) { return a.bits < b.bits; });
  return widest == summary.sums.end()
             ? "none"
             : fmt::format("{} bits hold any sum; the widest are those of {}", widest->bits,
                           printable(widest->node));
}

/// "22: Conv 17, Add 4, Gemm 1"
std::string by_operator(const Summary& summary) {
  std::map<std::string, std::size_t> counts;
  for (const Summary::Quantized& node : summary.quantized) {
    ++counts[node.op];
  }
  std::string text = fmt::format("{}", summary.quantized.size());
  const char* separator = ": ";
  for (const auto& [op, count] : counts) {
    text += fmt::format("{}{} {}", separator, op, count);
    separator = ", ";
  }
  return text;
}

struct Job {
  std::string model;
  std::string output;
  std::string target;
  std::size_t samples = 0;
  CalibrationAudit audit;
  std::uintmax_t model_bytes = 0;
  std::uintmax_t output_bytes = 0;
};

std::string as_text(const Job& job, const Summary& summary) {
  std::string text = fmt::format("{} -> {}\n", printable(job.model), printable(job.output));
  const auto row = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<12}{}\n", name, value);
  };
  row("target", job.target);
  row("samples", job.samples == 0 ? "none" : std::to_string(job.samples));
  row("points", std::to_string(summary.points));
  row("quantized", by_operator(summary));
  row("accumulator", widest_sums(summary));
  row("kept float", std::to_string(summary.kept_float.size()));
  for (const KeptFloat& kept : summary.kept_float) {
    text += fmt::format("    {}: {}\n", printable(kept.node), printable(kept.reason));
  }
  row("size",
      fmt::format("{} -> {}", bytes_text(job.model_bytes), bytes_text(job.output_bytes)));
  return text;
}

Json as_json(const Job& job, const Summary& summary) {
  Json json{{"model", job.model},
            {"output", job.output},
            {"target", job.target},
            {"samples", job.samples},
            {"points", summary.points},
            {"quantized", Json::array()},
            {"kept_float", Json::array()},
            {"accumulators", Json::array()},
            {"calibration",
             {{"samples", job.audit.samples},
              {"data", fmt::format("{:x}", job.audit.data)},
              {"warnings", warnings_json(job.audit.warnings)}}},
            {"bytes", {{"model", job.model_bytes}, {"output", job.output_bytes}}}};
  for (const Summary::Quantized& node : summary.quantized) {
    json["quantized"].push_back(
        {{"node", node.node}, {"op", node.op}, {"pattern", node.pattern}});
  }
  for (const KeptFloat& kept : summary.kept_float) {
    json["kept_float"].push_back({{"node", kept.node}, {"reason", kept.reason}});
  }
  for (const Summary::Sums& sums : summary.sums) {
    json["accumulators"].push_back({{"node", sums.node}, {"bits", sums.bits}});
  }
  return json;
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
  if (!options.has("data") && options.has("report")) {
    throw Error(ErrorCode::kInvalidConfig, "quantize", "option '--report' needs '--data'")
        .hint("'tare compare' makes a report of a model that is quantized already");
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
ReportFiles check_files(const Options& options, const Job& job) {
  CommandFiles files;
  files.reads_model(job.model);
  files.reads(options.text("data"));
  add_configuration(options, files);
  files.writes(job.output, Content::kModel);
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

QuantizeResult from_data(const Options& options, const Console& console,
                         const Configuration& configuration, Job& job) {
  const auto& [config, toolkit] = configuration;
  const auto data = open_dataset(options.text("data"));
  const Graph graph = load_model(job.model, config.dims, data.get());
  const auto limit = static_cast<std::size_t>(config.samples.value_or(0));
  job.samples = limit == 0 ? data->size() : std::min(limit, data->size());
  Progress progress(console, "calibrating");
  const CalibrateOptions pass{.threads = static_cast<int>(options.count("threads")),
                              .samples = limit,
                              .memory = config.memory,
                              .progress = progress.callback()};
  if (!options.has("stats")) {
    return quantize(graph, *data, config, toolkit, pass);
  }
  CalibrationAudit audit;
  const Statistics statistics =
      collect(simulate_all(graph, config, toolkit), *data, pass, {}, &audit);
  write_statistics(options.text("stats"), statistics);
  QuantizeResult result = quantize(graph, statistics, config, toolkit);
  std::vector<Warning>& warnings = result.audit.warnings;
  warnings.insert(warnings.begin(), audit.warnings.begin(), audit.warnings.end());
  return result;
}

QuantizeResult from_statistics(const Options& options, const Configuration& configuration,
                               Job& job) {
  const auto& [config, toolkit] = configuration;
  const Statistics statistics = read_statistics(options.text("stats"));
  job.samples = statistics.samples;
  return quantize(load_model(job.model, config.dims, statistics.inputs), statistics, config,
                  toolkit);
}

QuantizeResult from_table(const Options& options, const Configuration& configuration,
                          Job& job) {
  const auto& [config, toolkit] = configuration;
  const TableFile table(options.text("table"));
  const QuantizeResult result =
      quantize(load_model(job.model, config.dims, table.inputs()), table, config, toolkit);
  job.samples = result.audit.samples;
  return result;
}

QuantizeResult from_weights(const Configuration& configuration, const Job& job) {
  const auto& [config, toolkit] = configuration;
  return quantize(load_model(job.model, config.dims, nullptr), config, toolkit);
}

/// What it cost on the samples that it was calibrated on.
Report report_on(const QuantizeResult& result, const Options& options, const Console& console,
                 const Configuration& configuration, const Job& job) {
  const auto data = open_dataset(options.text("data"));
  Progress progress(console, "comparing");
  Report report = compare_result(
      result, *data, configuration.toolkit,
      {.threads = static_cast<int>(options.count("threads")),
       .samples = static_cast<std::size_t>(configuration.config.samples.value_or(0)),
       .progress = progress.callback()});
  name_files(job.model, job.output, options.text("data"), report);
  return report;
}

int run(const Options& options, const Console& console) {
  Job job;
  job.model = options.text("MODEL");
  job.output = options.text("output");
  const Summary summary = during("quantizing '" + job.model + "'", [&] {
    const Configuration configuration = read_configuration(options);
    require_source(options, configuration.config);
    const ReportFiles report_files = check_files(options, job);
    const QuantizeResult result =
        options.has("data")    ? from_data(options, console, configuration, job)
        : options.has("stats") ? from_statistics(options, configuration, job)
        : options.has("table") ? from_table(options, configuration, job)
                               : from_weights(configuration, job);
    if (writes_table(options)) {
      write_table(options.text("table"), result);
    }
    write_model(result, job.output, form_of(options));
    if (!report_files.empty()) {
      report_files.write(report_on(result, options, console, configuration, job));
    }
    job.target = configuration.config.target;
    job.audit = result.audit;
    job.model_bytes = stored_bytes(job.model);
    job.output_bytes = stored_bytes(job.output);
    return summarize(result);
  });
  say_warnings(job.audit.warnings, console);
  console.print(options.has("json") ? to_text(as_json(job, summary)) : as_text(job, summary));
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
       .summary = "statistics: with --data written there, otherwise used instead"},
      {.name = "table",
       .value = "FILE",
       .summary = "parameters: with --data or --stats written there, otherwise used instead"},
      output_flag("quantized model: ONNX"),
      form_flag(),
      report_flag()};
  append(flags, calibrating_flags());
  return {.summary = "calibrate a float model on samples and rewrite it to int8",
          .arguments = {{"MODEL", "float model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples = {"tare quantize model.onnx --data samples.h5 -o model.int8.onnx",
                       "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --config "
                       "my.yaml --set activations.calibrator=percentile",
                       "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --report "
                       "report.html",
                       "tare quantize model.onnx --stats statistics.h5 -o model.int8.onnx",
                       "tare quantize model.onnx --table table.yaml -o model.int8.onnx"},
          .run = run};
}
