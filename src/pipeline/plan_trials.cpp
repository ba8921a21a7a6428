// Bisection of a Pareto front. Its plans are ordered from fast to accurate, so where the
// conditions are about errors, a plan that meets them is followed by plans that do, and
// log2(plans) trials find the first. A trial quantizes the whole network and evaluates it on
// the samples that were held out.
#include "pipeline/plan_trials.h"

#include "tare/model_files.h"

#include "calibrate/statistics/shares.h"
#include "report/figures.h"

#include <algorithm>
#include <utility>

namespace tare {

std::vector<ReportCondition> forbidden(const std::vector<ReportCondition>& conditions) {
  std::vector<ReportCondition> result;
  for (const ReportCondition& condition : conditions) {
    result.push_back(condition.negated());
  }
  return result;
}

Report with_files(Report report, const QuantizeResult& result, const SearchOptions& options) {
  report.real.file = options.model_file.string();
  report.real.bytes = options.model_file.empty() ? 0 : stored_bytes(options.model_file);
  report.quantized.file = options.output.string();
  report.quantized.bytes = written_bytes(result.qdq, options.output, file_metadata(result));
  report.data = options.data_file.string();
  return report;
}

PlanTrials::PlanTrials(const SearchOptions& options, PlanWork work, SearchMemory& memory)
    : options_(options),
      work_(std::move(work)),
      memory_(memory),
      forbidden_(forbidden(options.conditions)),
      files_(options.reports) {
  if (!options.output.empty()) {
    files_.push_back(options.output);
  }
  const std::vector<RecordedPlan>& all = memory.known().plans;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].plan.integer_share >= options.least_integers) {
      plans_.push_back({.plan = all[i].plan});
      places_.push_back(i);
    }
  }
  if (plans_.empty()) {
    const auto most =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
          return a.plan.integer_share < b.plan.integer_share;
        });
    plans_.push_back({.plan = most->plan, .has_enough_integers = false});
    places_.push_back(static_cast<std::size_t>(most - all.begin()));
  }
  chosen_ = plans_.size() - 1;
}

bool PlanTrials::run() {
  std::size_t low = 0;
  std::size_t high = plans_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    // Something is tried each time, however long the preparations took.
    if (known_report(middle).empty() && news_ > 0 && is_late()) {
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

/// By the clock of the first process.
bool PlanTrials::is_late() const {
  const bool own = std::chrono::steady_clock::now() >= options_.deadline;
  return of_first(own ? "late" : "", options_.communicator) == "late";
}

void PlanTrials::restore() {
  const bool is_here =
      (!options_.output.empty() || best_) && memory_.has_written(places_[chosen_], files_);
  if (of_first(is_here ? "here" : "", options_.communicator) != "here") {
    QuantizeResult result = work_.quantize(plans_[chosen_].plan);
    const Report report = report_of(result);
    keep(std::move(result), report);
  }
}

const std::string& PlanTrials::known_report(std::size_t at) const {
  return memory_.known().plans[places_[at]].report;
}

bool PlanTrials::meets(std::size_t at) {
  if (const std::string& report = known_report(at); !report.empty()) {
    note_report(report, at);
  } else {
    ++news_;
    make(at);
  }
  return plans_[at].meets();
}

void PlanTrials::make(std::size_t at) {
  QuantizeResult result = work_.quantize(plans_[at].plan);
  const Report report = report_of(result);
  std::string json = report_json(report);
  note_report(json, at);
  if (chosen_ == at) {
    keep(std::move(result), report);
    if (is_first(options_.communicator)) {
      memory_.note_written(places_[at], files_);
    }
  }
  memory_.learn(places_[at], std::move(json));
}

void PlanTrials::note_report(const std::string& report, std::size_t at) {
  const bool had_best = plans_[chosen_].meets();
  SearchedPlan& tried = plans_[at];
  tried.report = report;
  tried.sqnr = least_sqnr(report);
  tried.failures = conditions_met(forbidden_, report);
  if (tried.meets() || !had_best) {
    chosen_ = at;
  }
}

Report PlanTrials::report_of(const QuantizeResult& result) const {
  return with_files(work_.evaluate(result), result, options_);
}

void PlanTrials::keep(QuantizeResult result, const Report& report) {
  if (is_first(options_.communicator)) {
    if (!options_.output.empty()) {
      work_.write(result, options_.output);
    }
    for (const std::filesystem::path& file : options_.reports) {
      write_report(file, report, report_format(file));
    }
  }
  if (options_.output.empty()) {
    best_ = std::move(result);
  }
}

}  // namespace tare
