// Quantizes a model: calibrates it on samples and writes it with integer operators.
#include "tare/error.h"
#include "tare/pipeline.h"

#include "activity.h"
#include "configuration.h"
#include "outputs.h"
#include "progress.h"
#include "text.h"
#include "verb.h"

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
};

/// Regions may share nodes; each counts once.
Summary summarize(const QuantizeResult& result) {
  Summary summary;
  summary.kept_float = result.simulated.kept_float;
  for (const auto& [name, point] : result.table) {
    summary.points += point.enabled ? 1 : 0;
  }
  std::set<NodeId> seen;
  for (const Region& region : result.simulated.regions) {
    for (const NodeId id : region.match.nodes()) {
      if (seen.insert(id).second) {
        const Node& node = result.simulated.source.node(id);
        summary.quantized.push_back({node.name, node.op, std::string(region.pattern->name)});
      }
    }
  }
  return summary;
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
  std::uintmax_t model_bytes = 0;
  std::uintmax_t output_bytes = 0;
};

std::string as_text(const Job& job, const Summary& summary) {
  std::string text = fmt::format("{} -> {}\n", job.model, job.output);
  const auto row = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<12}{}\n", name, value);
  };
  row("target", job.target);
  row("samples", std::to_string(job.samples));
  row("points", std::to_string(summary.points));
  row("quantized", by_operator(summary));
  row("kept float", std::to_string(summary.kept_float.size()));
  for (const KeptFloat& kept : summary.kept_float) {
    text += fmt::format("    {}: {}\n", kept.node, kept.reason);
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
            {"bytes", {{"model", job.model_bytes}, {"output", job.output_bytes}}}};
  for (const Summary::Quantized& node : summary.quantized) {
    json["quantized"].push_back(
        {{"node", node.node}, {"op", node.op}, {"pattern", node.pattern}});
  }
  for (const KeptFloat& kept : summary.kept_float) {
    json["kept_float"].push_back({{"node", kept.node}, {"reason", kept.reason}});
  }
  return json;
}

void require_source(const Options& options) {
  if (!options.has("data") && !options.has("stats")) {
    throw Error(ErrorCode::kInvalidConfig, "quantize", "option '--data' is missing")
        .expected("samples with '--data', or statistics of them with '--stats'");
  }
  if (!options.has("data") && options.has("samples")) {
    throw Error(ErrorCode::kInvalidConfig, "quantize", "option '--samples' needs '--data'")
        .hint("statistics are of all samples that they were collected from");
  }
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
  const Statistics statistics = collect(simulate_all(graph, config, toolkit), *data, pass);
  write_statistics(options.text("stats"), statistics);
  return quantize(graph, statistics, config, toolkit);
}

QuantizeResult from_statistics(const Options& options, const Configuration& configuration,
                               Job& job) {
  const auto& [config, toolkit] = configuration;
  const Statistics statistics = read_statistics(options.text("stats"));
  job.samples = statistics.samples;
  return quantize(load_model(job.model, config.dims, statistics.inputs), statistics, config,
                  toolkit);
}

int run(const Options& options, const Console& console) {
  Job job;
  job.model = options.text("MODEL");
  job.output = options.text("output");
  const Summary summary = during("quantizing '" + job.model + "'", [&] {
    require_source(options);
    require_writable(job.output, {job.model, options.text("data"), options.text("stats"),
                                  options.text("config")});
    if (options.has("data") && options.has("stats")) {
      require_writable(options.text("stats"),
                       {job.model, options.text("data"), options.text("config"), job.output});
    }
    const Configuration configuration = read_configuration(options);
    const QuantizeResult result = options.has("data")
                                      ? from_data(options, console, configuration, job)
                                      : from_statistics(options, configuration, job);
    write_onnx(result.qdq, job.output);
    job.target = configuration.config.target;
    job.model_bytes = std::filesystem::file_size(job.model);
    job.output_bytes = std::filesystem::file_size(job.output);
    return summarize(result);
  });
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
      output_flag("quantized model: ONNX")};
  for (Flag& flag : config_flags()) {
    flags.push_back(std::move(flag));
  }
  flags.push_back(threads_flag());
  flags.push_back(samples_flag());
  flags.push_back(effort_flag());
  flags.push_back(memory_flag());
  return {.summary = "calibrate a float model on samples and rewrite it to int8",
          .arguments = {{"MODEL", "float model: ONNX"}},
          .flags = std::move(flags),
          .examples = {"tare quantize model.onnx --data samples.h5 -o model.int8.onnx",
                       "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --config "
                       "my.yaml --set activations.calibrator=percentile",
                       "tare quantize model.onnx --stats statistics.h5 -o model.int8.onnx"},
          .run = run};
}
