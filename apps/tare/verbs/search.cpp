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

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace tare::cli {
namespace {

/// One corner of the curve, and what came of it where it was tried.
struct Tried {
  Tradeoff way;
  std::optional<double> sqnr{};
  std::vector<std::string> failures{};  ///< requirements that it does not meet

  bool meets() const { return sqnr && failures.empty(); }
};

struct Job {
  std::string model;
  std::string data;
  std::string output;
  std::vector<ReportCondition> forbidden;
  double least_integers = 0;  ///< share of the multiplications
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
  int threads = 0;
};

Job job_of(const Options& options) {
  Job job{.model = options.text("MODEL"),
          .data = options.text("data"),
          .output = options.text("output"),
          .forbidden = {},
          .least_integers = options.share("keep-int8"),
          .threads = static_cast<int>(options.count("threads"))};
  for (const std::string& text : options.all("require")) {
    job.forbidden.push_back(ReportCondition(text).negated());
    job.forbidden.back().check();
  }
  if (options.has("time")) {
    job.end = std::chrono::steady_clock::now() + std::chrono::seconds(options.count("time"));
  }
  return job;
}

/// What ranges were chosen on looks better than other samples do, so the last ones are kept for
/// judging, unless they are too few to be shared out.
struct Split {
  std::size_t calibrating;
  std::size_t judging;
};

Split split(std::size_t samples) {
  constexpr std::size_t kFew = 8;
  return samples < kFew ? Split{samples, samples} : Split{samples - samples / 3, samples / 3};
}

/// The ways with enough integers. Where there are none the one with the most, which fails.
std::vector<Tried> with_enough_integers(const std::vector<Tradeoff>& all, double least) {
  std::vector<Tried> result;
  for (const Tradeoff& way : all) {
    if (way.integer_share >= least) {
      result.push_back({.way = way});
    }
  }
  if (result.empty()) {
    const auto most = std::max_element(
        all.begin(), all.end(),
        [](const auto& a, const auto& b) { return a.integer_share < b.integer_share; });
    result.push_back({.way = *most,
                      .failures = {fmt::format("--keep-int8 {}: no way keeps more than {:.4f}",
                                               least, most->integer_share)}});
  }
  return result;
}

/// Tries ways one after another; the best so far is always in the file.
class Trials {
 public:
  /// `quantize` makes the network of a way.
  Trials(const Job& job, std::vector<Tried> curve,
         std::function<QuantizeResult(const Tradeoff&)> quantize,
         std::function<Report(const QuantizeResult&)> report, const ReportFiles& files)
      : job_(job),
        quantize_(std::move(quantize)),
        report_(std::move(report)),
        files_(files),
        curve_(std::move(curve)),
        chosen_(curve_.size() - 1) {}

  /// Errors fall along the curve: finds the first way that meets the requirements by halving.
  void run() {
    std::size_t low = 0;
    std::size_t high = curve_.size();
    while (low < high && (low == 0 || std::chrono::steady_clock::now() < job_.end)) {
      const std::size_t middle = low + (high - low) / 2;
      if (meets(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
  }

  const std::vector<Tried>& curve() const { return curve_; }
  std::size_t chosen() const { return chosen_; }

 private:
  bool meets(std::size_t index) {
    Tried& tried = curve_[index];
    const QuantizeResult result = quantize_(tried.way);
    Report report = report_(result);
    judge(report, tried);
    if (tried.meets() || !curve_[chosen_].meets()) {
      chosen_ = index;
      write_onnx(export_form(result.integer, Form::kQdq, result.simulated.target), job_.output,
                 file_metadata(result));
      name_files(job_.model, job_.output, job_.data, report);
      files_.write(report);
    }
    return tried.meets();
  }

  void judge(const Report& report, Tried& tried) const {
    const std::string json = report_json(report);
    for (const ReportCondition& condition : job_.forbidden) {
      if (const auto reason = condition.met_by(json)) {
        tried.failures.push_back(*reason);
      }
    }
    constexpr double kExact = std::numeric_limits<double>::infinity();
    tried.sqnr = kExact;
    for (const OutputReport& output : report.outputs) {
      tried.sqnr = std::min(*tried.sqnr, output.error.sqnr.value_or(kExact));
    }
  }

  const Job& job_;
  std::function<QuantizeResult(const Tradeoff&)> quantize_;
  std::function<Report(const QuantizeResult&)> report_;
  const ReportFiles& files_;
  std::vector<Tried> curve_;
  std::size_t chosen_;
};

std::string decibels(double sqnr) {
  return std::isinf(sqnr) ? "exact" : fmt::format("{:.1f} dB", sqnr);
}

std::string curve_text(const std::vector<Tried>& curve, std::size_t chosen) {
  std::string text =
      fmt::format("  {:>7}  {:>7}  {:>9}  {:>9}\n", "time", "in int8", "expected", "measured");
  const double fastest = curve.front().way.nanoseconds;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const Tradeoff& way = curve[i].way;
    text += fmt::format("{} {:>7}  {:>7}  {:>9}", i == chosen ? '>' : ' ',
                        fastest > 0 ? fmt::format("{:.2f}x", way.nanoseconds / fastest) : "",
                        fmt::format("{:.1f} %", 100 * way.integer_share),
                        decibels(way.error > 0 ? -10 * std::log10(way.error)
                                               : std::numeric_limits<double>::infinity()));
    text += curve[i].sqnr ? fmt::format("  {:>9}\n", decibels(*curve[i].sqnr)) : "\n";
  }
  return text;
}

/// The lines with which, added to the configuration, `tare quantize` writes the same file.
std::string config_text(const Tradeoff& way, std::size_t calibrating) {
  std::string text =
      fmt::format("calibration: {{samples: {}}}\naccuracy: {{slowdown: 0}}\n", calibrating);
  if (!way.float_nodes.empty()) {
    text += "layers:\n";
  }
  for (const std::string& node : way.float_nodes) {
    text += "  - {match: {name: " + Json(node).dump() + "}, keep_float: true}\n";
  }
  return text;
}

Json as_json(const Job& job, const Split& samples, const std::vector<Tried>& curve,
             std::size_t chosen) {
  Json json{{"model", job.model},
            {"output", job.output},
            {"samples", {{"calibrating", samples.calibrating}, {"judging", samples.judging}}},
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
    const std::vector<std::filesystem::path> inputs{job.model, job.data,
                                                    options.text("config")};
    require_writable(job.output, inputs);
    const ReportFiles files(options, inputs, {job.output});
    const Configuration configuration = read_configuration(options);
    const auto& [config, toolkit] = configuration;
    const auto data = open_dataset(job.data);
    const std::size_t used =
        std::min(data->size(),
                 config.samples ? static_cast<std::size_t>(*config.samples) : data->size());
    const Split samples = split(used);
    const auto judge = part_of(*data, used - samples.judging, samples.judging);
    const Graph model = load_model(job.model, config.dims, data.get());
    Progress progress(console, "calibrating");
    const CalibrateOptions pass{.threads = job.threads,
                                .samples = samples.calibrating,
                                .memory = config.memory,
                                .progress = progress.callback()};
    Trials trials(
        job,
        with_enough_integers(tradeoffs(model, *data, config, toolkit, pass),
                             job.least_integers),
        [&](const Tradeoff& way) {
          return quantize(model, *data, sharing_out(config, way), toolkit, pass);
        },
        [&](const QuantizeResult& result) {
          return compare_result(result, *judge, toolkit, {.threads = job.threads});
        },
        files);
    trials.run();
    const std::vector<Tried>& curve = trials.curve();
    const Tried& chosen = curve[trials.chosen()];
    if (options.has("json")) {
      console.print(to_text(as_json(job, samples, curve, trials.chosen())));
    } else {
      console.print(curve_text(curve, trials.chosen()) +
                    config_text(chosen.way, samples.calibrating));
    }
    for (const std::string& reason : chosen.failures) {
      console.say("tare: failed: " + printable(reason) + "\n");
    }
    return chosen.meets() ? 0 : 1;
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
       .summary = "leave at least that share of the multiplications on integers, as 0.9",
       .is_share = true},
      {.name = "time",
       .value = "SECONDS",
       .summary = "try no further way after that; the best so far stays",
       .is_count = true},
      report_flag()};
  append(flags, calibrating_flags());
  return {.summary = "find the fastest mixture of integers and floats that meets requirements",
          .arguments = {{"MODEL", "float model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples = {"tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                       "'output.sqnr>=30'",
                       "tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                       "'top1.drop<=0.5' --keep-int8 0.9"},
          .run = run};
}
