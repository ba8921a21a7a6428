// Finds the fastest mixed-precision model that meets requirements.

#include "tare/dataset.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/statistics.h"

#include "activity.h"
#include "configuration.h"
#include "interrupt.h"
#include "outputs.h"
#include "printing/layout.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "report_files.h"
#include "search_memory.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace tare::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  std::string model;
  std::string data;
  std::string output;
  std::vector<ReportCondition> forbidden;
  double least_integers = 0;  ///< share of the multiplications
  Clock::time_point end = Clock::time_point::max();
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
  }
  if (options.has("time")) {
    job.end = Clock::now() + std::chrono::seconds(options.count("time"));
  }
  return job;
}

/// Calibration samples give too good a result, so the last ones are held out, unless they are
/// too few to be split.
struct Split {
  std::size_t calibrating;
  std::size_t holdout;
};

Split split(std::size_t samples) {
  constexpr std::size_t kFew = 8;
  return samples < kFew ? Split{samples, samples} : Split{samples - samples / 3, samples / 3};
}

/// One plan of the Pareto front, and its result where it was tried.
struct Tried {
  std::size_t index;  ///< among all plans
  MixedPrecisionPlan plan;
  std::optional<double> sqnr{};
  std::vector<std::string> failures{};  ///< requirements that it does not meet

  bool meets() const { return sqnr && failures.empty(); }
};

/// The plans with enough integers. Where there are none the one with the most, which fails.
std::vector<Tried> with_enough_integers(const std::vector<SearchedPlan>& all, double least) {
  std::vector<Tried> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].plan.integer_share >= least) {
      result.push_back({.index = i, .plan = all[i].plan});
    }
  }
  if (result.empty()) {
    const auto most =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
          return a.plan.integer_share < b.plan.integer_share;
        });
    result.push_back({.index = static_cast<std::size_t>(most - all.begin()),
                      .plan = most->plan,
                      .failures = {fmt::format("--keep-int8 {}: no plan keeps more than {:.4f}",
                                               least, most->plan.integer_share)}});
  }
  return result;
}

/// How a network is quantized by a plan, and evaluated.
struct Work {
  std::function<QuantizeResult(const MixedPrecisionPlan&)> quantize;
  std::function<Report(const QuantizeResult&)> report;
};

/// Tries plans one after another; the best so far is always in the file.
class Trials {
 public:
  Trials(const Job& job, Work work, const ReportFiles& files, SearchMemory& memory)
      : job_(job),
        work_(std::move(work)),
        files_(files),
        memory_(memory),
        curve_(with_enough_integers(memory.known().plans, job.least_integers)),
        chosen_(curve_.size() - 1),
        outputs_(files.paths()) {
    outputs_.emplace_back(job.output);
  }

  /// Errors fall along the Pareto front: bisects for the first plan that meets the
  /// requirements. False when time is up before.
  bool run() {
    std::size_t low = 0;
    std::size_t high = curve_.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      // Something is tried each time, however long the preparations took.
      if (!is_known(middle) && news_ > 0 && Clock::now() >= job_.end) {
        return false;
      }
      if (meets(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return true;
  }

  /// Writes again what was written earlier and is no longer there.
  void restore() {
    const Tried& chosen = curve_[chosen_];
    if (!memory_.has_written(chosen.index, outputs_)) {
      const QuantizeResult result = work_.quantize(chosen.plan);
      write(result, report_of(result));
    }
  }

  const std::vector<Tried>& curve() const { return curve_; }
  std::size_t chosen() const { return chosen_; }

 private:
  const std::string& known_report(std::size_t at) const {
    return memory_.known().plans[curve_[at].index].report;
  }
  bool is_known(std::size_t at) const { return !known_report(at).empty(); }

  bool meets(std::size_t at) {
    if (is_known(at)) {
      evaluate(known_report(at), at);
    } else {
      ++news_;
      make(at);
    }
    return curve_[at].meets();
  }

  void make(std::size_t at) {
    const QuantizeResult result = work_.quantize(curve_[at].plan);
    const Report report = report_of(result);
    std::string json = report_json(report);
    evaluate(json, at);
    if (chosen_ == at) {
      write(result, report);
      memory_.note_written(curve_[at].index, outputs_);
    }
    memory_.learn(curve_[at].index, std::move(json));
  }

  void evaluate(const std::string& report, std::size_t at) {
    Tried& tried = curve_[at];
    const bool had_best = curve_[chosen_].meets();
    for (const ReportCondition& condition : job_.forbidden) {
      if (const auto reason = condition.met_by(report)) {
        tried.failures.push_back(*reason);
      }
    }
    constexpr double kExact = std::numeric_limits<double>::infinity();
    tried.sqnr = kExact;
    const Json json = Json::parse(report);
    for (const Json& output : json["outputs"]) {
      const auto sqnr = output.find("sqnr");
      if (sqnr != output.end() && sqnr->is_number()) {
        tried.sqnr = std::min(*tried.sqnr, sqnr->get<double>());
      }
    }
    if (tried.meets() || !had_best) {
      chosen_ = at;
    }
  }

  /// With the size that the file would have, which requirements may be about.
  Report report_of(const QuantizeResult& result) const {
    Report report = work_.report(result);
    report.real.file = job_.model;
    report.real.bytes = stored_bytes(job_.model);
    report.quantized.file = job_.output;
    report.quantized.bytes =
        written_bytes(written_model(result), job_.output, file_metadata(result));
    report.data = job_.data;
    return report;
  }

  void write(const QuantizeResult& result, const Report& report) const {
    write_onnx(written_model(result), job_.output, file_metadata(result));
    files_.write(report);
  }

  static Graph written_model(const QuantizeResult& result) {
    return export_form(result.integer, Form::kQdq, result.simulated.target);
  }

  const Job& job_;
  Work work_;
  const ReportFiles& files_;
  SearchMemory& memory_;
  std::vector<Tried> curve_;
  std::size_t chosen_;
  std::vector<std::filesystem::path> outputs_;
  std::size_t news_ = 0;  ///< plans that were tried and had not been before
};

std::string decibels(double sqnr) {
  return std::isinf(sqnr) ? "exact" : fmt::format("{:.1f} dB", sqnr);
}

std::string curve_text(const std::vector<Tried>& curve, std::size_t chosen) {
  std::string text =
      fmt::format("  {:>7}  {:>7}  {:>9}  {:>9}\n", "time", "in int8", "expected", "measured");
  const double fastest = curve.front().plan.nanoseconds;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const MixedPrecisionPlan& plan = curve[i].plan;
    text += fmt::format("{} {:>7}  {:>7}  {:>9}", i == chosen ? '>' : ' ',
                        fastest > 0 ? fmt::format("{:.2f}x", plan.nanoseconds / fastest) : "",
                        fmt::format("{:.1f} %", 100 * plan.integer_share),
                        decibels(plan.error > 0 ? -10 * std::log10(plan.error)
                                                : std::numeric_limits<double>::infinity()));
    text += curve[i].sqnr ? fmt::format("  {:>9}\n", decibels(*curve[i].sqnr)) : "\n";
  }
  return text;
}

/// The lines with which, added to the configuration, `tare quantize` writes the same file.
std::string config_text(const MixedPrecisionPlan& plan, std::size_t calibrating) {
  std::string text =
      fmt::format("calibration: {{samples: {}}}\naccuracy: {{slowdown: 0}}\n", calibrating);
  if (!plan.float_nodes.empty()) {
    text += "layers:\n";
  }
  for (const std::string& node : plan.float_nodes) {
    text += "  - {match: {name: " + yaml_scalar(node) + "}, keep_float: true}\n";
  }
  return text;
}

Json as_json(const Job& job, const Split& samples, const std::vector<Tried>& curve,
             std::size_t chosen) {
  Json json{{"model", job.model},
            {"output", job.output},
            {"samples", {{"calibrating", samples.calibrating}, {"holdout", samples.holdout}}},
            {"met", curve[chosen].meets()},
            {"chosen", chosen},
            {"curve", Json::array()}};
  for (const Tried& tried : curve) {
    Json entry{{"nanoseconds", tried.plan.nanoseconds},
               {"integer_share", tried.plan.integer_share},
               {"expected_error", tried.plan.error},
               {"keep_float", tried.plan.float_nodes},
               {"failures", tried.failures}};
    entry["sqnr"] = tried.sqnr && std::isfinite(*tried.sqnr) ? Json(*tried.sqnr) : Json();
    json["curve"].push_back(std::move(entry));
  }
  return json;
}

constexpr const char* kCheckpoint = ".checkpoint";
constexpr const char* kGoesOn = "run the same command to resume";

/// Plans that were tried, now or earlier.
std::string trials_text(const SearchMemory& memory) {
  const std::vector<SearchedPlan>& plans = memory.known().plans;
  const auto tried =
      std::count_if(plans.begin(), plans.end(),
                    [](const SearchedPlan& searched) { return !searched.report.empty(); });
  return counted(static_cast<std::size_t>(tried), "trial");
}

int search(const Options& options, const Console& console, const Job& job,
           const ReportFiles& files, const Configuration& configuration, const Graph& model,
           const Dataset& data, SearchMemory& memory) {
  const Config& config = configuration.config;
  const Toolkit& toolkit = configuration.toolkit;
  const std::size_t used = std::min(
      data.size(), config.samples ? static_cast<std::size_t>(*config.samples) : data.size());
  const Split samples = split(used);
  const auto holdout = part_of(data, used - samples.holdout, samples.holdout);
  Progress progress(console, "calibrating");
  const auto watch = [shown = progress.callback()](std::size_t done, std::size_t total) {
    Interrupt::check();
    if (shown) {
      shown(done, total);
    }
  };
  const CalibrateOptions pass{.threads = job.threads,
                              .samples = samples.calibrating,
                              .memory = config.memory,
                              .progress = watch};
  if (memory.known().plans.empty()) {
    memory.learn(mixed_precision_plans(model, data, config, toolkit, pass, memory.measured()));
  }
  const auto quantize_plan = [&](const MixedPrecisionPlan& plan) {
    return quantize(model, data, apply_plan(config, plan), toolkit, pass);
  };
  const auto report_of = [&](const QuantizeResult& result) {
    return compare_result(result, *holdout, toolkit,
                          {.threads = job.threads,
                           .progress = [](std::size_t, std::size_t) { Interrupt::check(); }});
  };
  Trials trials(job, {quantize_plan, report_of}, files, memory);
  const bool is_done = trials.run();
  trials.restore();
  progress.end();
  const std::vector<Tried>& curve = trials.curve();
  const Tried& chosen = curve[trials.chosen()];
  if (options.has("json")) {
    console.print(to_text(as_json(job, samples, curve, trials.chosen())));
  } else {
    console.print(curve_text(curve, trials.chosen()) +
                  config_text(chosen.plan, samples.calibrating));
  }
  for (const std::string& reason : chosen.failures) {
    console.say(wrapped("tare: failed: " + with_short_names(reason), 2) + "\n");
  }
  if (is_done) {
    memory.forget();
  } else {
    console.say(fmt::format("time is up after {}; {}\n", trials_text(memory), kGoesOn));
  }
  return chosen.meets() ? 0 : 1;
}

int run(const Options& options, const Console& console) {
  return during("searching '" + options.text("MODEL") + "'", [&] {
    const Job job = job_of(options);
    CommandFiles used;
    used.reads_model(job.model);
    used.reads(job.data);
    add_configuration(options, used);
    used.writes(job.output, Content::kModel);
    used.keeps_beside(job.output, kCheckpoint);
    const ReportFiles files(options, used);
    used.check();
    const Configuration configuration = read_configuration(options);
    for (const ReportCondition& condition : job.forbidden) {
      say_each(condition.check(empty_report(configuration.toolkit)), console);
    }
    const auto data = open_samples(job.data);
    const Graph model = load_model(job.model, configuration.config.dims, data.get());
    const Interrupt interrupt;
    SearchMemory memory(
        job.output + kCheckpoint,
        search_identity(model, *data, configuration.config, plugins_of(options)));
    try {
      return search(options, console, job, files, configuration, model, *data, memory);
    } catch (const Interrupted&) {
      console.say(memory.empty() ? "interrupted before anything was measured\n"
                                 : fmt::format("interrupted after {}; {}\n",
                                               trials_text(memory), kGoesOn));
      return Interrupt::exit_status();
    }
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
       .summary =
           "a requirement, such as 'output.sqnr>=30', 'top1.drop<=0.5' or 'output.kl<=0.01'",
       .required = true,
       .repeated = true},
      {.name = "keep-int8",
       .value = "SHARE",
       .summary = "keep at least this share of the multiplications in int8, such as 0.9",
       .is_share = true},
      {.name = "time",
       .value = "SECONDS",
       .summary =
           "stop after SECONDS and keep the best so far; the same command resumes the search",
       .is_count = true},
      report_flag()};
  append(flags, calibrating_flags());
  return {.summary =
              "find the fastest mixed-precision model that meets requirements; resumes where "
              "it stopped",
          .arguments = {{"MODEL", "float model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples = {"tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                       "'output.sqnr>=30'",
                       "tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                       "'top1.drop<=0.5' --keep-int8 0.9"},
          .run = run};
}
