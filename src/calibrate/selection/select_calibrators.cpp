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

#include "calibrate/selection/choose.h"
#include "calibrate/selection/trial.h"
#include "calibrate/selection/unify.h"
#include "graph/operators/scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tare {
namespace {

/// The first rung of successive halving, in runs: settings that are clearly worse than others
/// are eliminated, and again after twice as many runs. Of fewer the standard error is a guess.
constexpr std::size_t kFirstRung = 16;
/// In standard errors. 1 would halve the time and lose 0.1 to 0.4 dB (decision 26).
constexpr double kClearly = 2;
/// Groups of neighbours whose candidates are exchanged together, at most: single points would
/// make the time grow with the square of the network.
constexpr std::size_t kGroups = 32;
/// Up to so many points each gets its own candidate; of more, neighbours get one together, as
/// trials of each would take time with the square of the network.
constexpr std::size_t kAlone = 480;
/// So many points have their candidates compared at the same time, as each of these settings
/// takes memory for all points.
constexpr std::size_t kContests = 64;

double sum(std::span<const double> errors) {
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

/// What the sum of as many other numbers of that kind would be off by, typically.
double standard_error(std::span<const double> numbers) {
  const double mean = sum(numbers) / static_cast<double>(numbers.size());
  double squares = 0;
  for (const double number : numbers) {
    squares += (number - mean) * (number - mean);
  }
  return std::sqrt(squares);
}

/// A setting with its error in each run so far.
struct CandidateSetting {
  std::size_t candidate;
  Setting setting;
  std::vector<double> errors{};
};

/// Less than 0 where `a` does better in the first runs, of which both have had so many.
std::vector<double> change(const CandidateSetting& a, const CandidateSetting& b,
                           std::size_t runs) {
  std::vector<double> result(runs);
  std::transform(a.errors.begin(), a.errors.begin() + static_cast<std::ptrdiff_t>(runs),
                 b.errors.begin(), result.begin(), std::minus<>());
  return result;
}

/// Evaluates the network with parameters for all points.
class CandidateEvaluator {
 public:
  CandidateEvaluator(const FakeQuantizedGraph& graph, const CandidateTable& candidate_table,
                     const Trial& trial)
      : points_(graph.points),
        candidate_table_(candidate_table),
        trial_(trial),
        executable_(up_to_scores(graph.graph)) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (candidate_table.candidates.contains(points_[i])) {
        open_.push_back(i);
      }
    }
  }

  const std::vector<std::size_t>& open() const { return open_; }  ///< points with candidates
  const std::string& name(std::size_t point) const { return points_[point]; }

  Setting all_disabled() const { return Setting(points_.size(), disabled_point()); }
  Setting primary_setting() const {
    Setting setting;
    for (const std::string& point : points_) {
      setting.push_back(enabled_point(candidate_table_.table.at(point).params));
    }
    return setting;
  }

  std::vector<double> errors(const Setting& setting) const {
    return trial_.errors(executable_, {&setting, 1}, 0, trial_.runs()).front();
  }

  /// The different settings that candidates make of some points.
  std::vector<CandidateSetting> candidate_settings(const Setting& base,
                                                   std::span<const std::size_t> points) const {
    std::vector<CandidateSetting> result;
    for (std::size_t candidate = 0; candidate < most(points); ++candidate) {
      Setting setting = base;
      for (const std::size_t i : points) {
        const auto& all = candidate_table_.candidates.at(points_[i]);
        setting[i] = enabled_point(all[std::min(candidate, all.size() - 1)].params);
      }
      if (setting != base && std::none_of(result.begin(), result.end(), [&](const auto& c) {
            return c.setting == setting;
          })) {
        result.push_back({candidate, std::move(setting)});
      }
    }
    return result;
  }

  /// Lets all of them have the first `runs` runs. Those that have not had so many yet must have
  /// had the same ones.
  void run(std::vector<CandidateSetting>& candidate_settings, std::size_t runs) const {
    std::vector<CandidateSetting>* all = &candidate_settings;
    run(std::span(&all, 1), runs);
  }
  void run(std::span<std::vector<CandidateSetting>* const> contests, std::size_t runs) const {
    std::vector<CandidateSetting*> late;
    std::vector<Setting> settings;
    for (std::vector<CandidateSetting>* contest : contests) {
      for (CandidateSetting& c : *contest) {
        if (c.errors.size() < runs) {
          late.push_back(&c);
          settings.push_back(c.setting);
        }
      }
    }
    if (late.empty()) {
      return;
    }
    const auto more = trial_.errors(executable_, settings, late.front()->errors.size(), runs);
    for (std::size_t i = 0; i < late.size(); ++i) {
      late[i]->errors.insert(late[i]->errors.end(), more[i].begin(), more[i].end());
    }
  }

  /// Eliminates, of each of some contests, those that are clearly worse than another. Where
  /// only one is left, it has not had all runs. All contests have the same runs at once, as
  /// settings that differ in few points share the rest of the network.
  void successive_halving(std::span<std::vector<CandidateSetting>> contests) const {
    std::vector<std::vector<CandidateSetting>*> open;
    for (std::vector<CandidateSetting>& contest : contests) {
      open.push_back(&contest);
    }
    for (std::size_t runs = 0; runs < trial_.runs();) {
      std::erase_if(open, [](const auto* contest) { return contest->size() < 2; });
      runs = std::min(std::max(kFirstRung, 2 * runs), trial_.runs());
      run(open, runs);
      for (std::vector<CandidateSetting>* contest : open) {
        eliminate(*contest, runs);
      }
    }
  }

 private:
  static void eliminate(std::vector<CandidateSetting>& contest, std::size_t runs) {
    const CandidateSetting best =
        *std::min_element(contest.begin(), contest.end(),
                          [&](const CandidateSetting& a, const CandidateSetting& b) {
                            return sum(change(a, b, runs)) < 0;
                          });
    std::erase_if(contest, [&](const CandidateSetting& c) {
      const std::vector<double> worse = change(c, best, runs);
      return sum(worse) > kClearly * standard_error(worse);
    });
  }

  std::size_t most(std::span<const std::size_t> points) const {
    std::size_t most = 0;
    for (const std::size_t i : points) {
      most = std::max(most, candidate_table_.candidates.at(points_[i]).size());
    }
    return most;
  }

  std::vector<std::string> points_;
  const CandidateTable& candidate_table_;
  const Trial& trial_;
  Executable executable_;
  std::vector<std::size_t> open_;
};

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
  const CandidateEvaluator evaluator(fake_quantized_graph(simulated, activations),
                                     candidate_table, trial);
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
                         const Trial& trial) {
  const CandidateEvaluator evaluator(fake_quantized_graph(simulated, candidate_table.table),
                                     candidate_table, trial);
  CandidateSetting best{0, evaluator.primary_setting()};
  best.errors = evaluator.errors(best.setting);
  const std::span<const std::size_t> open = evaluator.open();
  const std::size_t size = (open.size() + kGroups - 1) / kGroups;
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
                              const MakeCandidateTable& make) {
  const std::size_t primaries = count_primary_candidates(simulated, calibrators);
  if (primaries == 1) {
    return make(0, options, audit).table;
  }
  const Trial trial(simulated.source, data, options);
  const auto errors_of = [&](const CandidateTable& candidate_table) {
    const CandidateEvaluator evaluator(fake_quantized_graph(simulated, candidate_table.table),
                                       candidate_table, trial);
    return evaluator.errors(evaluator.primary_setting());
  };
  std::vector<Attempt> attempts(primaries);
  for (std::size_t primary = 0; primary < primaries; ++primary) {
    Attempt& attempt = attempts[primary];
    attempt.candidate_table =
        make(primary, part_of(options, primary, primaries), &attempt.audit);
    attempt.error = expected_error(errors_of(attempt.candidate_table));
  }
  auto best = std::min_element(attempts.begin(), attempts.end(), less_error);
  Attempt mixed = *best;
  put_least_sensitive(simulated, mixed.candidate_table, trial);
  mixed.error = expected_error(errors_of(mixed.candidate_table));
  if (less_error(mixed, *best)) {
    *best = std::move(mixed);
  }
  exchange_candidates(simulated, best->candidate_table, trial);
  derive_all_accumulators(simulated, best->candidate_table.means, best->candidate_table.table,
                          thread_count(options.threads));
  unify_activations(simulated, best->candidate_table.means, best->candidate_table.table);
  if (audit != nullptr) {
    *audit = std::move(best->audit);
  }
  return std::move(best->candidate_table.table);
}

}  // namespace tare
