// The search for a mixed-precision plan: sensitivities of the layers give a Pareto front of
// plans (search/), of which trials (plan_trials.h) find the fastest that meets the conditions.
// With a budget they give a menu of widths instead (width_menu.h), from which a mix is chosen
// (budget_trials.h).
// What is known so far is in a memory that a later search can resume (store/search_memory.h).
#include "tare/search.h"

#include "tare/error.h"

#include "base/hash.h"
#include "calibrate/statistics/shares.h"
#include "pipeline/budget_trials.h"
#include "pipeline/mixed_precision_plans.h"
#include "pipeline/plan_trials.h"
#include "pipeline/store/search_memory.h"
#include "pipeline/width_menu.h"
#include "report/figures.h"
#include "search/bit_operations.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace tare {
namespace {

/// The first samples are calibrated on, the last ones evaluated on.
struct Split {
  std::size_t used;
  std::size_t calibrating;
  std::size_t holdout;
};

/// Calibration samples give too good a result, so others are held out, unless they are too few
/// to be split.
Split split(const Dataset& data, const Config& config, const SearchOptions& options) {
  constexpr std::size_t kFew = 8;
  const std::size_t used = std::min(
      data.size(), config.samples ? static_cast<std::size_t>(*config.samples) : data.size());
  const std::size_t holdout = options.holdout.value_or(used < kFew ? 0 : used / 3);
  if (holdout >= used) {
    throw Error(ErrorCode::kInvalidConfig, "holdout",
                "is " + std::to_string(holdout) + " of " + std::to_string(used) + " samples")
        .expected("fewer than all, as the others are calibrated on");
  }
  return {used, used - holdout, holdout == 0 ? used : holdout};
}

/// One that a checkpoint may be resumed with, for which all samples are read.
SearchIdentity identity_of(const Graph& model, const Dataset& data, const Config& config,
                           const SearchOptions& options) {
  if (options.checkpoint.empty()) {
    return {};
  }
  SearchIdentity result = search_identity(model, data, config, options.plugins);
  if (options.holdout) {
    result.data = hash(std::to_string(*options.holdout), result.data);
  }
  if (options.budget.is_set()) {
    result.configuration = hash("widths", result.configuration);  // of other sensitivities
  }
  return result;
}

/// What is of no use for widths.
void check_budget(const SearchOptions& options) {
  if (!options.budget.is_set()) {
    return;
  }
  Faults faults;
  if (options.least_integers > 0) {
    faults.add("'least_integers'", "is given beside a budget, which leaves no layer in float",
               "one of them");
  }
  if (options.deadline != std::chrono::steady_clock::time_point::max()) {
    faults.add("'deadline'", "is given beside a budget, for which one mix is tried",
               "one of them");
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

/// A file that is to be small holds few bits in as many.
Config for_budget(Config config, const Budget& budget) {
  if (budget.size && !config.packs_weights) {
    config.packs_weights = true;
  }
  return config;
}

/// A misspelt condition is not to cost a search.
void check_conditions(const SearchOptions& options, const Toolkit& toolkit) {
  Report known;
  for (const MetricInfo& metric : toolkit.metrics) {
    known.metrics.push_back({std::string(metric.name), std::nullopt});
  }
  for (const ReportCondition& condition : options.conditions) {
    condition.check(known);
  }
}

class Search {
 public:
  Search(const Graph& model, const Dataset& data, const Config& config, const Toolkit& toolkit,
         const SearchOptions& options)
      : model_(model),
        data_(data),
        config_(for_budget(config, options.budget)),
        toolkit_(toolkit),
        options_(options),
        samples_(split(data, config, options)),
        holdout_(part_of(data, samples_.used - samples_.holdout, samples_.holdout)),
        memory_(is_first(options.communicator)
                    ? SearchMemory(options.checkpoint,
                                   identity_of(model, data, config_, options),
                                   options.communicator)
                    : SearchMemory(options.communicator)) {}

  SearchResult run() {
    SearchResult result;
    try {
      result = options_.budget.is_set() ? found_within_budget() : found();
    } catch (const SearchStopped&) {
      result = {.end = SearchEnd::kStopped, .trials = memory_.trials()};
    } catch (const Error& error) {
      // The same samples and settings would end here again.
      if (error.code() != ErrorCode::kIo && error.code() != ErrorCode::kInternal) {
        memory_.forget();
      }
      throw;
    }
    if (result.end == SearchEnd::kDone) {
      memory_.forget();
    } else {
      result.is_resumable = memory_.is_resumable();
    }
    return result;
  }

 private:
  /// Throws SearchStopped.
  SearchResult found() {
    if (memory_.known().plans.empty()) {
      memory_.learn(mixed_precision_plans(model_, data_, config_, toolkit_, calibrating(),
                                          memory_.measured([this] { return is_to_stop(); })));
    }
    PlanTrials trials(options_,
                      {[this](const MixedPrecisionPlan& plan) {
                         return quantized(apply_plan(config_, plan));
                       },
                       [this](const QuantizeResult& result) { return evaluated(result); },
                       [this](const QuantizeResult& result, const std::filesystem::path& path) {
                         write_model(result, path, Form::kQdq, toolkit_);
                       }},
                      memory_);
    const bool is_done = trials.run();
    trials.restore();
    SearchResult result{.end = is_done ? SearchEnd::kDone : SearchEnd::kDeadline,
                        .trials = memory_.trials(),
                        .calibrated_on = samples_.calibrating,
                        .evaluated_on = samples_.holdout,
                        .plans = trials.plans(),
                        .chosen = trials.chosen(),
                        .quantized = trials.take_best()};
    result.config = apply_plan(config_, result.plans[result.chosen].plan);
    result.config.samples = static_cast<std::int64_t>(samples_.calibrating);
    return result;
  }

  /// Throws SearchStopped.
  SearchResult found_within_budget() {
    const WidthMenu menu =
        width_menu(model_, data_, config_, toolkit_, calibrating(),
                   memory_.measured([this] { return is_to_stop(); }), options_.output);
    memory_.learn(menu.measured);
    MixTrial tried =
        try_widths(menu, options_.budget, config_, target_of(config_, toolkit_),
                   options_.output, [this](const Config& config) { return quantized(config); });
    const Report report = with_files(evaluated(tried.result), tried.result, options_);
    SearchedPlan plan;
    plan.report = report_json(report);
    plan.plan.integer_share = integer_share(tried.result.simulated);
    for (const LayerWidth& layer : tried.mix.layers) {
      plan.plan.error += layer.error;
    }
    plan.sqnr = least_sqnr(plan.report);
    plan.failures = conditions_met(forbidden(options_.conditions), plan.report);
    SearchResult result{.trials = tried.trials,
                        .calibrated_on = samples_.calibrating,
                        .evaluated_on = samples_.holdout,
                        .plans = {std::move(plan)},
                        .config = std::move(tried.config),
                        .mix = std::move(tried.mix)};
    result.config.samples = static_cast<std::int64_t>(samples_.calibrating);
    if (is_first(options_.communicator)) {
      write(tried.result, report);
    }
    if (options_.output.empty()) {
      result.quantized = std::move(tried.result);
    }
    return result;
  }

  void write(const QuantizeResult& result, const Report& report) const {
    if (!options_.output.empty()) {
      write_model(result, options_.output, Form::kQdq, toolkit_);
    }
    for (const std::filesystem::path& file : options_.reports) {
      write_report(file, report, report_format(file));
    }
  }

  QuantizeResult quantized(const Config& config) const {
    return quantize(model_, data_, config, toolkit_, calibrating());
  }

  Report evaluated(const QuantizeResult& result) const {
    return compare_result(result, *holdout_, toolkit_,
                          {.threads = options_.threads,
                           .communicator = options_.communicator,
                           .progress = [this](std::size_t, std::size_t) { check(); }});
  }

  CalibrateOptions calibrating() const {
    return {.threads = options_.threads,
            .samples = samples_.calibrating,
            .memory = config_.memory,
            .communicator = options_.communicator,
            .progress = [this](std::size_t done, std::size_t total) {
              check();
              if (options_.progress) {
                options_.progress(done, total);
              }
            }};
  }

  bool is_to_stop() const { return options_.stop && options_.stop(); }
  void check() const {
    if (is_to_stop()) {
      throw SearchStopped{};
    }
  }

  const Graph& model_;
  const Dataset& data_;
  const Config config_;
  const Toolkit& toolkit_;
  const SearchOptions& options_;
  Split samples_;
  std::unique_ptr<Dataset> holdout_;
  SearchMemory memory_;
};

}  // namespace

SearchResult search(const Graph& model, const Dataset& data, const Config& config,
                    const Toolkit& toolkit, const SearchOptions& options) {
  check_budget(options);
  check_conditions(options, toolkit);
  return Search(model, data, config, toolkit, options).run();
}

Config apply_plan(Config config, const MixedPrecisionPlan& plan) {
  config.slowdown = plan.slowdown;
  for (const std::string& node : plan.float_nodes) {
    LayerRule rule;
    rule.name = node;
    rule.keep_float = true;
    config.layers.push_back(std::move(rule));
  }
  return config;
}

}  // namespace tare
