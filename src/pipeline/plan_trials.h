#pragma once

#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/search.h"
#include "tare/simulate.h"

#include "pipeline/store/search_memory.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// How a network is quantized by a plan, and evaluated.
struct PlanWork {
  std::function<QuantizeResult(const MixedPrecisionPlan&)> quantize;
  std::function<Report(const QuantizeResult&)> evaluate;
  std::function<void(const QuantizeResult&, const std::filesystem::path&)> write;
};

/// The opposites of conditions.
std::vector<ReportCondition> forbidden(const std::vector<ReportCondition>&);

/// The report of a network with what it says of files: those of the options, and the size that
/// the one of the network would have, which conditions may be about.
Report with_files(Report, const QuantizeResult&, const SearchOptions&);

/// Tries plans of a Pareto front one after another. The best so far is always in the files of
/// the options, or here where they name none for the model.
class PlanTrials {
 public:
  /// Of the plans in the memory. Everything has to outlive it.
  PlanTrials(const SearchOptions&, PlanWork, SearchMemory&);

  /// Errors fall along the front: bisects for the first plan that meets the conditions. False
  /// when the deadline passes before.
  bool run();
  /// Makes again what an earlier search has written or had here, and is no longer there.
  void restore();

  /// The plans with enough integers. Where there are none the one with the most, which fails.
  const std::vector<SearchedPlan>& plans() const { return plans_; }
  std::size_t chosen() const { return chosen_; }
  /// That of the chosen plan, where no file has the model.
  std::optional<QuantizeResult> take_best() { return std::move(best_); }

 private:
  const std::string& known_report(std::size_t at) const;
  bool is_late() const;
  bool meets(std::size_t at);
  void make(std::size_t at);
  void note_report(const std::string& report, std::size_t at);
  Report report_of(const QuantizeResult&) const;
  void keep(QuantizeResult, const Report&);

  const SearchOptions& options_;
  PlanWork work_;
  SearchMemory& memory_;
  std::vector<ReportCondition> forbidden_;  ///< the opposites of the conditions
  std::vector<SearchedPlan> plans_;
  std::vector<std::size_t> places_;  ///< of these among the plans in the memory
  std::size_t chosen_ = 0;
  std::vector<std::filesystem::path> files_;  ///< that get what comes of the best plan
  std::optional<QuantizeResult> best_;
  std::size_t news_ = 0;  ///< plans that were tried and had not been before
};

}  // namespace tare
