// Finds the fastest mixture of integers and floats that meets requirements.
#include "tare/compare.h"
#include "tare/error.h"
#include "tare/pipeline.h"
#include "tare/report_condition.h"
#include "tare/report_file.h"

#include "activity.h"
#include "configuration.h"
#include "outputs.h"
#include "progress.h"
#include "report_files.h"
#include "text.h"
#include "verb.h"

#include <chrono>
#include <cmath>

namespace tare::cli {
namespace {

/// Samples that are too few to be calibrated on and judged by apart.
constexpr std::size_t kFew = 8;

/// One corner of the curve, and what came of it where it was tried.
struct Tried {
  Tradeoff way;
  std::optional<double> sqnr{};
  std::vector<std::string> failures{};  ///< requirements that it does not meet

  bool meets() const { return sqnr && failures.empty(); }
};

struct Job {
  std::string model;
  std::string output;
  std::vector<ReportCondition> forbidden;
  double least_integers = 0;  ///< share of the multiplications
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
};

double share_of(const Options& options) {
  if (!options.has("keep-int8")) {
    return 0;
  }
  const std::string text = options.text("keep-int8");
  std::size_t used = 0;
  double share = -1;
  try {
    share = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || !(share >= 0 && share <= 1)) {
    throw Error(ErrorCode::kInvalidConfig, "--keep-int8", "is '" + text + "'")
        .expected("a share from 0 to 1");
  }
  return share;
}

Job job_of(const Options& options) {
  Job job;
  job.model = options.text("MODEL");
  job.output = options.text("output");
  for (const std::string& text : options.all("require")) {
    job.forbidden.push_back(ReportCondition(text).negated());
  }
  job.least_integers = share_of(options);
  if (options.has("time")) {
    job.end = std::chrono::steady_clock::now() + std::chrono::seconds(options.count("time"));
  }
  return job;
}

/// Quantizes in that way and holds it to the requirements; the report goes to `report`.
QuantizeResult try_out(const Search& search, const Dataset& data, const Options& options,
                       const Configuration& configuration, const Job& job, Tried& tried,
                       Report& report) {
  QuantizeResult result = search.result(tried.way);
  report = compare_result(
      result, data, configuration.toolkit,
      {.threads = static_cast<int>(options.count("threads")), .samples = 0, .progress = {}});
  const std::string json = report_json(report);
  for (const ReportCondition& condition : job.forbidden) {
    if (const auto reason = condition.met_by(json)) {
      tried.failures.push_back(*reason);
    }
  }
  tried.sqnr = std::numeric_limits<double>::infinity();
  for (const OutputReport& output : report.outputs) {
    tried.sqnr = std::min(*tried.sqnr,
                          output.error.sqnr.value_or(std::numeric_limits<double>::infinity()));
  }
  return result;
}

std::string decibels(std::optional<double> sqnr) {
  return !sqnr ? "" : std::isinf(*sqnr) ? "exact" : fmt::format("{:.1f} dB", *sqnr);
}

std::string curve_text(const std::vector<Tried>& curve, std::size_t chosen) {
  std::string text =
      fmt::format("  {:>7}  {:>7}  {:>9}  {:>9}\n", "time", "in int8", "expected", "measured");
  const double fastest = curve.front().way.nanoseconds;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const Tradeoff& way = curve[i].way;
    text += fmt::format("{} {:>7}  {:>7}  {:>9}  {:>9}\n", i == chosen ? '>' : ' ',
                        fastest > 0 ? fmt::format("{:.2f}x", way.nanoseconds / fastest) : "",
                        fmt::format("{:.1f} %", 100 * way.integer_share),
                        decibels(way.error > 0 ? -10 * std::log10(way.error)
                                               : std::numeric_limits<double>::infinity()),
                        decibels(curve[i].sqnr));
  }
  return text;
}

/// Lines that `quantize --config` takes.
std::string layers_text(const Tradeoff& way) {
  std::string text = "accuracy: {slowdown: 0}\n";
  if (!way.float_nodes.empty()) {
    text += "layers:\n";
  }
  for (const std::string& node : way.float_nodes) {
    text += "  - {match: {name: " + Json(node).dump() + "}, keep_float: true}\n";
  }
  return text;
}

Json as_json(const Job& job, const std::vector<Tried>& curve, std::size_t chosen) {
  Json json{{"model", job.model},
            {"output", job.output},
            {"met", curve[chosen].meets()},
            {"chosen", chosen},
            {"curve", Json::array()}};
  for (const Tried& tried : curve) {
    Json entry{{"nanoseconds", tried.way.nanoseconds},
               {"integer_share", tried.way.integer_share},
               {"expected_error", tried.way.error},
               {"keep_float", tried.way.float_nodes},
               {"failures", tried.failures}};
    entry["sqnr"] = tried.sqnr && std::isfinite(*tried.sqnr) ? Json(*tried.sqnr) : Json();
    json["curve"].push_back(std::move(entry));
  }
  return json;
}

int run(const Options& options, const Console& console) {
  return during("searching '" + options.text("MODEL") + "'", [&] {
    const Job job = job_of(options);
    const std::vector<std::filesystem::path> inputs{job.model, options.text("data"),
                                                    options.text("config")};
    require_writable(job.output, inputs);
    const ReportFiles files(options, inputs, {job.output});
    const Configuration configuration = read_configuration(options);
    const auto& [config, toolkit] = configuration;
    const auto data = open_dataset(options.text("data"));
    const std::size_t samples = std::min(
        data->size(), static_cast<std::size_t>(
                          config.samples.value_or(static_cast<std::int64_t>(data->size()))));
    // What ranges were chosen on looks better than other samples do.
    const std::size_t judging = samples < kFew ? samples : samples / 4;
    const std::size_t calibrating = samples < kFew ? samples : samples - judging;
    const auto judge = part_of(*data, samples - judging, judging);
    Progress progress(console, "calibrating");
    const Search search(load_model(job.model, config.dims, data.get()), *data, config, toolkit,
                        {.threads = static_cast<int>(options.count("threads")),
                         .samples = calibrating,
                         .memory = config.memory,
                         .progress = progress.callback()});
    std::vector<Tried> curve;
    for (const Tradeoff& way : search.curve()) {
      if (curve.empty() || way.integer_share >= job.least_integers) {
        curve.push_back({.way = way});
      }
    }
    // Errors fall along the curve: the first way that meets the requirements, by halving. The
    // best so far is always in the file.
    std::size_t low = 0;
    std::size_t high = curve.size();
    std::size_t chosen = curve.size() - 1;
    bool met = false;
    Report report;
    const auto look_at = [&](std::size_t i) {
      const QuantizeResult result =
          try_out(search, *judge, options, configuration, job, curve[i], report);
      const bool better = curve[i].meets() || !met;
      if (better) {
        chosen = i;
        met = curve[i].meets();
        write_onnx(export_form(result.integer, Form::kQdq, result.simulated.target), job.output,
                   file_metadata(result));
        if (!files.empty()) {
          name_files(job.model, job.output, options.text("data"), report);
          files.write(report);
        }
      }
      return curve[i].meets();
    };
    while (low < high && (low == 0 || std::chrono::steady_clock::now() < job.end)) {
      const std::size_t middle = low + (high - low) / 2;
      if (look_at(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (options.has("json")) {
      console.print(to_text(as_json(job, curve, chosen)));
    } else {
      console.print(curve_text(curve, chosen) + layers_text(curve[chosen].way));
    }
    for (const std::string& reason : curve[chosen].failures) {
      console.say("tare: failed: " + printable(reason) + "\n");
    }
    return met ? 0 : 1;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(search) {
  using namespace tare::cli;
  std::vector<Flag> flags{
      data_flag(true),
      output_flag("quantized model: ONNX"),
      {.name = "require",
       .value = "CONDITION",
       .summary = "what has to hold, as 'output.sqnr>=30' or 'top1.drop<=0.5'",
       .required = true,
       .repeated = true},
      {.name = "keep-int8",
       .value = "SHARE",
       .summary = "leave at least that share of the multiplications on integers, as 0.9"},
      {.name = "time",
       .value = "SECONDS",
       .summary = "try no further way after that; the best so far stays",
       .is_count = true},
      report_flag()};
  for (Flag& flag : config_flags()) {
    flags.push_back(std::move(flag));
  }
  flags.push_back(threads_flag());
  flags.push_back(samples_flag());
  flags.push_back(effort_flag());
  flags.push_back(memory_flag());
  return {.summary = "find the fastest mixture of integers and floats that meets requirements",
          .arguments = {{"MODEL", "float model: ONNX"}},
          .flags = std::move(flags),
          .examples = {"tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                       "'output.sqnr>=30'",
                       "tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                       "'top1.drop<=0.5' --keep-int8 0.9"},
          .run = run};
}
