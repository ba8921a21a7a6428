// Chooses among the candidates of each point (calibrator `auto`) by the error of the network's
// results; the header has the three steps. All settings get 16 runs, then 32, 64 and so
// on, and after each rung those are dropped that are worse than the best by two standard errors
// of the difference, run by run. The rungs are those of successive halving (Jamieson and
// Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization", 2016),
// the test is that of racing (Maron and Moore, "Hoeffding Races", 1993): dropping a fixed share
// would lose good settings where many are alike.
//
// With p primary candidates, n points of up to c candidates and up to R = 512 runs it costs p
// calibrations, at most n c R runs of the network for the second step and 32 c R for the third.
// Successive halving is what pays for that many samples
// (docs/decisions/0026-auto-counts-errors-as-they-are.md).
#include "calibrate/selection/select_calibrators.h"

#include "base/parallel.h"
#include "calibrate/selection/candidate_evaluator.h"
#include "calibrate/selection/choose.h"
#include "calibrate/selection/trial.h"
#include "calibrate/selection/unify.h"
#include "execute/run/feed.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// Groups of neighbours whose candidates are exchanged together, at most: single points would
/// make the time grow with the square of the network.
constexpr std::size_t kGroups = 32;
/// Up to so many points each gets its own candidate; of more, neighbours get one together, as
/// trials of each would take time with the square of the network.
constexpr std::size_t kAlone = 480;
/// So many points have their candidates compared at the same time, as each of these settings
/// takes memory for all points.
constexpr std::size_t kContests = 64;
/// Those that settings of a large network get, whose results are many numbers each.
constexpr std::size_t kFewRuns = 8;

/// Puts candidate `index` of the point into the table, or its last.
void put(CandidateTable& candidate_table, const std::string& point, std::size_t index) {
  const auto& all = candidate_table.candidates.at(point);
  candidate_table.table.at(point) = all[std::min(index, all.size() - 1)];
}

/// The error of the results, with what another set of samples may have in addition: a range
/// that clips does harm in few samples.
double expected_error(std::span<const double> errors) {
  return sum(errors) + standard_error(errors);
}

/// The one with the least error; a point with one candidate keeps that.
void put_best(std::span<const std::size_t> points, std::span<const CandidateSetting> contest,
              const CandidateEvaluator& evaluator, CandidateTable& candidate_table) {
  const auto best = std::min_element(
      contest.begin(), contest.end(), [](const CandidateSetting& a, const CandidateSetting& b) {
        return expected_error(a.errors) < expected_error(b.errors);
      });
  if (best == contest.end() || best->errors.empty()) {
    return;
  }
  for (const std::size_t point : points) {
    put(candidate_table, evaluator.name(point), best->candidate);
  }
}

/// For each point, or few neighbours, the candidate with the least error while nothing else is
/// quantized.
void put_least_sensitive(const SimulatedGraph& simulated, CandidateTable& candidate_table,
                         const Trial& trial) {
  QuantTable activations;
  for (const auto& [name, result] : candidate_table.table) {
    if (simulated.find(name)->role == Role::kActivation) {
      activations.emplace(name, result);
    }
  }
  const CandidateEvaluator evaluator(
      fake_quantized_graph(simulated, activations, trial.threads()), candidate_table, trial);
  const std::span<const std::size_t> open = evaluator.open();
  const std::size_t size = (open.size() + kAlone - 1) / kAlone;
  std::vector<std::span<const std::size_t>> points;
  for (std::size_t first = 0; first < open.size(); first += size) {
    points.push_back(open.subspan(first, std::min(size, open.size() - first)));
  }
  for (std::size_t first = 0; first < points.size(); first += kContests) {
    const auto some =
        std::span(points).subspan(first, std::min(kContests, points.size() - first));
    std::vector<std::vector<CandidateSetting>> contests;
    for (const std::span<const std::size_t> own : some) {
      contests.push_back(evaluator.candidate_settings(evaluator.all_disabled(), own));
    }
    evaluator.successive_halving(contests);
    for (std::size_t i = 0; i < some.size(); ++i) {
      put_best(some[i], contests[i], evaluator, candidate_table);
    }
  }
}

/// Exchanges candidates while the error falls by more than chance would have it.
void exchange_candidates(const SimulatedGraph& simulated, CandidateTable& candidate_table,
                         const Trial& trial, std::size_t groups) {
  const CandidateEvaluator evaluator(
      fake_quantized_graph(simulated, candidate_table.table, trial.threads()), candidate_table,
      trial);
  CandidateSetting best{0, evaluator.primary_setting()};
  best.errors = evaluator.errors(best.setting);
  const std::span<const std::size_t> open = evaluator.open();
  const std::size_t size = (open.size() + groups - 1) / groups;
  for (std::size_t first = 0; first < open.size(); first += size) {
    const auto points = open.subspan(first, std::min(size, open.size() - first));
    std::vector<CandidateSetting> candidate_settings =
        evaluator.candidate_settings(best.setting, points);
    candidate_settings.push_back(best);
    evaluator.successive_halving({&candidate_settings, 1});
    evaluator.run(candidate_settings, trial.runs());
    const CandidateSetting& winner =
        *std::min_element(candidate_settings.begin(), candidate_settings.end(),
                          [](const CandidateSetting& a, const CandidateSetting& b) {
                            return sum(a.errors) < sum(b.errors);
                          });
    const std::vector<double> gain = change(winner, best, trial.runs());
    if (sum(gain) < -standard_error(gain)) {
      for (const std::size_t point : points) {
        put(candidate_table, evaluator.name(point), winner.candidate);
      }
      best = winner;
    }
  }
}

/// The options for one of several equal parts of the work.
CalibrateOptions part_of(const CalibrateOptions& options, std::size_t part, std::size_t parts) {
  CalibrateOptions result = options;
  if (options.progress) {
    result.progress = [&options, part, parts](std::size_t done, std::size_t total) {
      options.progress(part * total + done, parts * total);
    };
  }
  return result;
}

struct Attempt {
  CandidateTable candidate_table;
  CalibrationAudit audit{};
  double error = 0;
};

bool less_error(const Attempt& a, const Attempt& b) {
  return a.error < b.error;
}

double error_of(const SimulatedGraph& simulated, const CandidateTable& candidate_table,
                const Trial& trial) {
  const CandidateEvaluator evaluator(
      fake_quantized_graph(simulated, candidate_table.table, trial.threads()), candidate_table,
      trial);
  return expected_error(evaluator.errors(evaluator.primary_setting()));
}

/// What the choice costs, about: calibrating takes three runs of each sample, and a setting
/// half a run, as what lies before its points is computed once.
class SelectionCost {
 public:
  SelectionCost(const SimulatedGraph& simulated, const Dataset& data,
                const CalibrateOptions& options, std::size_t primaries)
      : primaries_(static_cast<double>(primaries)),
        multiplications_(std::max(multiplications(simulated.source), 1.0)),
        samples_(static_cast<double>(
            Feed(simulated.source, data, options.samples, options.first).runs())) {
    points_ = static_cast<double>(
        std::count_if(simulated.points.begin(), simulated.points.end(),
                      [](const QuantPoint& point) { return point.role == Role::kActivation; }));
  }

  /// With all three steps.
  bool is_within(const SelectionLimits& limits) const {
    const double runs = primaries_ * (3 * samples_ + kFirstRung * (points_ + kGroups) / 2);
    return runs <= std::max(limits.runs * samples_, limits.multiplications / multiplications_);
  }

  /// Of few runs each, so that their exchanges take about as long as two or three calibrations.
  std::size_t affordable_groups() const {
    constexpr double kMultiplications = 2.5e12;
    constexpr double kRunsOfSample = 10;
    const double runs = std::max(kRunsOfSample * samples_, kMultiplications / multiplications_);
    const double groups = runs / (primaries_ * kFewRuns / 2);
    return static_cast<std::size_t>(std::clamp(groups, 1.0, static_cast<double>(kGroups)));
  }

 private:
  double primaries_;
  double multiplications_;  ///< of a run
  double samples_;
  double points_ = 0;
};

/// The three steps of the header.
Attempt best_of_all(const SimulatedGraph& simulated, const Dataset& data,
                    const CalibrateOptions& options, std::size_t primaries,
                    const MakeCandidateTable& make) {
  const Trial trial(simulated.source, data, options);
  std::vector<Attempt> attempts(primaries);
  for (std::size_t primary = 0; primary < primaries; ++primary) {
    Attempt& attempt = attempts[primary];
    attempt.candidate_table =
        make(primary, part_of(options, primary, primaries), &attempt.audit);
    attempt.error = error_of(simulated, attempt.candidate_table, trial);
  }
  auto best = std::min_element(attempts.begin(), attempts.end(), less_error);
  Attempt mixed = *best;
  put_least_sensitive(simulated, mixed.candidate_table, trial);
  mixed.error = error_of(simulated, mixed.candidate_table, trial);
  if (less_error(mixed, *best)) {
    *best = std::move(mixed);
  }
  exchange_candidates(simulated, best->candidate_table, trial, kGroups);
  return std::move(*best);
}

/// The candidate that does best for all points of a table that another is primary in.
std::size_t best_primary(const SimulatedGraph& simulated, const CandidateTable& candidate_table,
                         const Trial& trial) {
  const CandidateEvaluator evaluator(
      fake_quantized_graph(simulated, candidate_table.table, trial.threads()), candidate_table,
      trial);
  CandidateSetting own{candidate_table.primary, evaluator.primary_setting()};
  std::vector<CandidateSetting> all =
      evaluator.candidate_settings(own.setting, evaluator.open());
  all.push_back(std::move(own));
  evaluator.run(all, trial.runs());
  return std::min_element(all.begin(), all.end(),
                          [](const CandidateSetting& a, const CandidateSetting& b) {
                            return expected_error(a.errors) < expected_error(b.errors);
                          })
      ->candidate;
}

/// The short form for large networks.
Attempt best_of_first(const SimulatedGraph& simulated, const Dataset& data,
                      const CalibrateOptions& options, const SelectionCost& cost,
                      const MakeCandidateTable& make) {
  const Trial trial(simulated.source, data, options, kFewRuns);
  const auto attempt = [&](std::size_t primary, std::size_t part) {
    Attempt result;
    result.candidate_table = make(primary, part_of(options, part, 2), &result.audit);
    result.error = error_of(simulated, result.candidate_table, trial);
    return result;
  };
  Attempt best = attempt(0, 0);
  if (const std::size_t primary = best_primary(simulated, best.candidate_table, trial);
      primary != 0) {
    Attempt other = attempt(primary, 1);
    if (less_error(other, best)) {
      best = std::move(other);
    }
  }
  exchange_candidates(simulated, best.candidate_table, trial, cost.affordable_groups());
  return best;
}

}  // namespace

std::size_t count_primary_candidates(const SimulatedGraph& simulated,
                                     std::span<const CalibratorInfo> calibrators) {
  std::size_t count = 1;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      count = std::max(count, candidates(point.calibrator, calibrators).size());
    }
  }
  return count;
}

void CandidateTable::add(const std::string& point, std::vector<PointResult> results) {
  table.emplace(point, results[std::min(primary, results.size() - 1)]);
  if (results.size() > 1) {
    candidates.emplace(point, std::move(results));
  }
}

QuantTable select_calibrators(const SimulatedGraph& simulated,
                              std::span<const CalibratorInfo> calibrators, const Dataset& data,
                              const CalibrateOptions& options, CalibrationAudit* audit,
                              const MakeCandidateTable& make, const SelectionLimits& limits) {
  const std::size_t primaries = count_primary_candidates(simulated, calibrators);
  if (primaries == 1) {
    return make(0, options, audit).table;
  }
  const SelectionCost cost(simulated, data, options, primaries);
  Attempt best = cost.is_within(limits) ? best_of_all(simulated, data, options, primaries, make)
                                        : best_of_first(simulated, data, options, cost, make);
  derive_all_accumulators(simulated, best.candidate_table.means, best.candidate_table.table,
                          thread_count(options.threads));
  unify_activations(simulated, best.candidate_table.means, best.candidate_table.table);
  if (audit != nullptr) {
    *audit = std::move(best.audit);
  }
  return std::move(best.candidate_table.table);
}

}  // namespace tare
