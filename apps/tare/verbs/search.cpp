// Finds the fastest mixed-precision model that meets requirements, or the mix of widths that
// loses least within a budget.

#include "tare/search.h"

#include "tare/dataset.h"
#include "tare/error.h"

#include "activity.h"
#include "configuration.h"
#include "dry_run.h"
#include "interrupt.h"
#include "outputs.h"
#include "printing/mix_text.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "ranks.h"
#include "report_files.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

namespace tare::cli {
namespace {

constexpr const char* kGoesOn = "run the same command to resume";

/// What is missing, and what does not go together.
void check_aims(const Options& options) {
  Faults faults;
  if (!options.has("require") && !options.has("budget")) {
    faults.add("search", "option '--require' or '--budget' is missing");
  }
  const auto refuse_beside_budget = [&](const std::string& name, const char* reason) {
    if (options.has("budget") && options.has(name)) {
      faults.add("option '--" + name + "'",
                 std::string("is given beside '--budget', ") + reason);
    }
  };
  refuse_beside_budget("keep-int8", "with which no layer with weights is in float");
  refuse_beside_budget("time", "for which one mix of widths is tried");
  faults.raise(ErrorCode::kInvalidConfig);
}

SearchOptions search_options(const Options& options) {
  SearchOptions result{.threads = static_cast<int>(options.count("threads")),
                       .least_integers = options.share("keep-int8"),
                       .budget = read_budget(options.all("budget")),
                       .output = options.text("output"),
                       .checkpoint = options.text("output") + kCheckpoint,
                       .model_file = options.text("MODEL"),
                       .data_file = options.text("data"),
                       .stop = Interrupt::requested};
  for (const std::string& text : options.all("require")) {
    result.conditions.emplace_back(text);
  }
  if (options.has("time")) {
    result.deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds("time"));
  }
  return result;
}

std::string decibels(double sqnr) {
  return std::isinf(sqnr) ? "exact" : fmt::format("{:.1f} dB", sqnr);
}

std::string front_text(const SearchResult& found, const Terminal& terminal) {
  std::string text =
      terminal.styled(Style::kHeading, fmt::format("  {:>7}  {:>7}  {:>9}  {:>9}", "time",
                                                   "in int8", "expected", "measured")) +
      "\n";
  const double fastest = found.plans.front().plan.nanoseconds;
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    const MixedPrecisionPlan& plan = found.plans[i].plan;
    const std::optional<double>& sqnr = found.plans[i].sqnr;
    const std::string row =
        fmt::format("{} {:>7}  {:>7}  {:>9}", i == found.chosen ? '>' : ' ',
                    fastest > 0 ? fmt::format("{:.2f}x", plan.nanoseconds / fastest) : "",
                    fmt::format("{:.1f} %", 100 * plan.integer_share),
                    decibels(plan.error > 0 ? -10 * std::log10(plan.error)
                                            : std::numeric_limits<double>::infinity())) +
        (sqnr ? fmt::format("  {:>9}", decibels(*sqnr)) : "");
    text += (i == found.chosen ? terminal.styled(Style::kGood, row) : row) + "\n";
  }
  return text;
}

/// The lines with which, added to the configuration, `tare quantize` writes the same file.
std::string config_text(const SearchResult& found) {
  const MixedPrecisionPlan& plan = found.plans[found.chosen].plan;
  std::string text = fmt::format("calibration: {{samples: {}}}\naccuracy: {{slowdown: {}}}\n",
                                 found.calibrated_on, plan.slowdown);
  if (!plan.float_nodes.empty()) {
    text += "layers:\n";
  }
  for (const std::string& node : plan.float_nodes) {
    text += "  - {match: {name: " + yaml_scalar(node) + "}, keep_float: true}\n";
  }
  return text;
}

/// Requirements that a plan does not meet.
std::vector<std::string> failures_of(const SearchedPlan& tried, double least_integers) {
  std::vector<std::string> result = tried.failures;
  if (!tried.has_enough_integers) {
    result.insert(result.begin(), fmt::format("--keep-int8 {}: no plan keeps more than {:.4f}",
                                              least_integers, tried.plan.integer_share));
  }
  return result;
}

Json as_json(const SearchResult& found, const SearchOptions& wanted) {
  Json json{
      {"model", wanted.model_file.string()},
      {"output", wanted.output.string()},
      {"samples", {{"calibrating", found.calibrated_on}, {"holdout", found.evaluated_on}}},
      {"met", found.meets()},
      {"chosen", found.chosen},
      {"curve", Json::array()}};
  for (const SearchedPlan& tried : found.plans) {
    Json entry{{"nanoseconds", tried.plan.nanoseconds},
               {"integer_share", tried.plan.integer_share},
               {"expected_error", tried.plan.error},
               {"keep_float", tried.plan.float_nodes},
               {"slowdown", tried.plan.slowdown},
               {"failures", failures_of(tried, wanted.least_integers)}};
    entry["sqnr"] = tried.sqnr && std::isfinite(*tried.sqnr) ? Json(*tried.sqnr) : Json();
    json["curve"].push_back(std::move(entry));
  }
  if (found.mix) {
    json["mix"] = Json::parse(mix_json(*found.mix));
  }
  return json;
}

void say_where_it_stands(const SearchResult& found, const Console& console) {
  const std::string trials = counted(found.trials, "trial");
  if (found.end == SearchEnd::kDeadline) {
    console.say(fmt::format("time is up after {}; {}\n", trials, kGoesOn));
  } else if (found.end == SearchEnd::kStopped) {
    console.say(found.is_resumable ? fmt::format("interrupted after {}; {}\n", trials, kGoesOn)
                                   : "interrupted before anything was measured\n");
  }
}

void say_result(const SearchResult& found, const SearchOptions& wanted, bool is_json,
                const Console& console) {
  console.print(is_json     ? to_text(as_json(found, wanted))
                : found.mix ? mix_text(found)
                            : front_text(found, console.out()) + config_text(found));
  for (const std::string& reason :
       failures_of(found.plans[found.chosen], wanted.least_integers)) {
    say_failure(reason, console);
  }
}

int run_search(const Options& options, const Console& given) {
  return during("searching '" + options.text("MODEL") + "'", [&] {
    Ranks ranks;
    const Console console = ranks.speaker(given);
    check_aims(options);
    SearchOptions wanted = search_options(options);
    CommandFiles used;
    used.reads_model(wanted.model_file);
    used.reads(wanted.data_file);
    add_configuration(options, used);
    used.writes(wanted.output, Content::kModel);
    used.keeps_beside(wanted.output, kCheckpoint);
    wanted.reports = ReportFiles(options, used).paths();
    used.check();
    const auto [config, toolkit] = read_configuration(options);
    // search() does so too, but reading a model and its samples may take long.
    for (const ReportCondition& condition : wanted.conditions) {
      say_each(condition.check(empty_report(toolkit)), console);
    }
    wanted.plugins = plugins_of(options);
    wanted.communicator = ranks.team();
    const auto data = open_samples(wanted.data_file, wanted.model_file, config, console);
    const Graph model = load_model(wanted.model_file, config.dims, data.get());
    if (options.has("dry-run")) {
      say_dry_run(options, wanted.model_file, model, *data, config, toolkit, console);
      return 0;
    }
    const Interrupt interrupt;
    Progress progress(console, "calibrating");
    wanted.progress = progress.callback();
    const SearchResult found = tare::search(model, *data, config, toolkit, wanted);
    progress.end();
    if (found.end == SearchEnd::kStopped) {
      ranks.leave();  // each stopped somewhere else
    } else {
      say_result(found, wanted, options.has("json"), console);
    }
    say_where_it_stands(found, console);
    return found.end == SearchEnd::kStopped ? Interrupt::exit_status() : found.meets() ? 0 : 1;
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
       .repeated = true},
      {.name = "budget",
       .value = "LIMIT",
       .summary =
           "choose 8, 4 or 2 bits for the weights of each layer, so that least is lost within "
           "'size=0.5MB' of the file, 'bops=1.5G' bit operations, or a share of the 8-bit "
           "network: 'size=60%', 'bops=50%'",
       .repeated = true},
      {.name = "keep-int8",
       .value = "SHARE",
       .summary = "keep at least this share of the multiplications in int8, such as 0.9",
       .is_share = true},
      time_flag("stop after so many seconds, or such as 5m, and keep the best so far; the same "
                "command resumes the search"),
      dry_run_flag(),
      report_flag()};
  append(flags, calibrating_flags());
  return {
      .task = Task::kQuantize,
      .summary =
          "find the fastest mixed-precision model that meets requirements, or the widths of "
          "weights that lose least within a budget; resumes where it stopped",
      .arguments = {{"MODEL", "float model: ONNX or TensorFlow Lite"}},
      .flags = std::move(flags),
      .examples = {"tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                   "'output.sqnr>=30'",
                   "tare search model.onnx --data samples.h5 -o model.int8.onnx --require "
                   "'top1.drop<=0.5' --keep-int8 0.9",
                   "tare search model.onnx --data samples.h5 -o model.mixed.onnx --budget "
                   "size=0.5MB"},
      .run = run_search,
      .shares_work = [](const Options&) { return true; }};
}
