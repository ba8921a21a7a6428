#include "calibrate/settle.h"

#include "calibrate/choose.h"
#include "calibrate/trial.h"
#include "calibrate/unify.h"
#include "graph/scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tare {
namespace {

/// Runs after which settings are out that do clearly worse than others, and again after twice
/// as many.
constexpr std::size_t kHeat = 16;
/// In standard errors.
constexpr double kClearly = 2;
constexpr std::size_t kGroups = 32;
/// Up to so many points each gets its own candidate; of more, neighbours get one together, as
/// trials of each would take time with the square of the network.
constexpr std::size_t kAlone = 480;

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
struct Contender {
  std::size_t candidate;
  Setting setting;
  std::vector<double> errors{};
};

/// Less than 0 where `a` does better in the first runs, of which both have had so many.
std::vector<double> change(const Contender& a, const Contender& b, std::size_t runs) {
  std::vector<double> result(runs);
  std::transform(a.errors.begin(), a.errors.begin() + static_cast<std::ptrdiff_t>(runs),
                 b.errors.begin(), result.begin(), std::minus<>());
  return result;
}

/// The network with parameters for all points, on trial.
class Contest {
 public:
  Contest(const SwitchableGraph& graph, const TableDraft& draft, const Trial& trial)
      : points_(graph.points),
        draft_(draft),
        trial_(trial),
        executable_(up_to_scores(graph.graph)) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (draft.candidates.contains(points_[i])) {
        open_.push_back(i);
      }
    }
  }

  const std::vector<std::size_t>& open() const { return open_; }  ///< points with candidates
  const std::string& name(std::size_t point) const { return points_[point]; }

  Setting all_off() const { return Setting(points_.size(), switch_off()); }
  Setting as_drafted() const {
    Setting setting;
    for (const std::string& point : points_) {
      setting.push_back(switch_on(draft_.table.at(point).params));
    }
    return setting;
  }

  std::vector<double> errors(const Setting& setting) const {
    return trial_.errors(executable_, {&setting, 1}, 0, trial_.runs()).front();
  }

  /// One for each different thing that candidates make of some points of a setting.
  std::vector<Contender> contenders(const Setting& base,
                                    std::span<const std::size_t> points) const {
    std::vector<Contender> result;
    for (std::size_t candidate = 0; candidate < most(points); ++candidate) {
      Setting setting = base;
      for (const std::size_t i : points) {
        const auto& all = draft_.candidates.at(points_[i]);
        setting[i] = switch_on(all[std::min(candidate, all.size() - 1)].params);
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
  void run(std::span<Contender> contenders, std::size_t runs) const {
    std::vector<Contender*> late;
    std::vector<Setting> settings;
    for (Contender& c : contenders) {
      if (c.errors.size() < runs) {
        late.push_back(&c);
        settings.push_back(c.setting);
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

  /// Leaves those that are not clearly worse than another. Where only one is left, it has not
  /// had all runs.
  void race(std::vector<Contender>& contenders) const {
    for (std::size_t runs = 0; runs < trial_.runs() && contenders.size() > 1;) {
      runs = std::min(std::max(kHeat, 2 * runs), trial_.runs());
      run(contenders, runs);
      const Contender best = *std::min_element(
          contenders.begin(), contenders.end(),
          [&](const Contender& a, const Contender& b) { return sum(change(a, b, runs)) < 0; });
      std::erase_if(contenders, [&](const Contender& c) {
        const std::vector<double> worse = change(c, best, runs);
        return sum(worse) > kClearly * standard_error(worse);
      });
    }
  }

 private:
  std::size_t most(std::span<const std::size_t> points) const {
    std::size_t most = 0;
    for (const std::size_t i : points) {
      most = std::max(most, draft_.candidates.at(points_[i]).size());
    }
    return most;
  }

  std::vector<std::string> points_;
  const TableDraft& draft_;
  const Trial& trial_;
  Executable executable_;
  std::vector<std::size_t> open_;
};

/// Puts candidate `index` of the point into the table, or its last.
void put(TableDraft& draft, const std::string& point, std::size_t index) {
  const auto& all = draft.candidates.at(point);
  draft.table.at(point) = all[std::min(index, all.size() - 1)];
}

/// The error of the results, with what another set of samples may have in addition: a range
/// that clips does harm in few samples.
double expected_error(std::span<const double> errors) {
  return sum(errors) + standard_error(errors);
}

/// For each point, or few neighbours, the candidate with the least error while nothing else is
/// quantized.
void put_least_harmful(const SimulatedGraph& simulated, TableDraft& draft, const Trial& trial) {
  QuantTable activations;
  for (const auto& [name, result] : draft.table) {
    if (simulated.find(name)->role == Role::kActivation) {
      activations.emplace(name, result);
    }
  }
  const Contest contest(switchable(simulated, activations), draft, trial);
  const std::span<const std::size_t> open = contest.open();
  const std::size_t size = (open.size() + kAlone - 1) / kAlone;
  for (std::size_t first = 0; first < open.size(); first += size) {
    const auto points = open.subspan(first, std::min(size, open.size() - first));
    std::vector<Contender> contenders = contest.contenders(contest.all_off(), points);
    if (contenders.size() < 2) {
      continue;
    }
    contest.race(contenders);
    const auto best = std::min_element(
        contenders.begin(), contenders.end(), [](const Contender& a, const Contender& b) {
          return expected_error(a.errors) < expected_error(b.errors);
        });
    for (const std::size_t point : points) {
      put(draft, contest.name(point), best->candidate);
    }
  }
}

/// Exchanges candidates while the error falls by more than chance would have it.
void exchange_candidates(const SimulatedGraph& simulated, TableDraft& draft,
                         const Trial& trial) {
  const Contest contest(switchable(simulated, draft.table), draft, trial);
  Contender best{0, contest.as_drafted()};
  contest.run({&best, 1}, trial.runs());
  const std::span<const std::size_t> open = contest.open();
  const std::size_t size = (open.size() + kGroups - 1) / kGroups;
  for (std::size_t first = 0; first < open.size(); first += size) {
    const auto points = open.subspan(first, std::min(size, open.size() - first));
    std::vector<Contender> contenders = contest.contenders(best.setting, points);
    contenders.push_back(best);
    contest.race(contenders);
    contest.run(contenders, trial.runs());
    const Contender& winner = *std::min_element(
        contenders.begin(), contenders.end(),
        [](const Contender& a, const Contender& b) { return sum(a.errors) < sum(b.errors); });
    const std::vector<double> gain = change(winner, best, trial.runs());
    if (sum(gain) < -standard_error(gain)) {
      for (const std::size_t point : points) {
        put(draft, contest.name(point), winner.candidate);
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
  TableDraft draft;
  CalibrationAudit audit{};
  double error = 0;
};

bool less_error(const Attempt& a, const Attempt& b) {
  return a.error < b.error;
}

}  // namespace

std::size_t count_leads(const SimulatedGraph& simulated,
                        std::span<const CalibratorInfo> calibrators) {
  std::size_t count = 1;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      count = std::max(count, candidates(point.calibrator, calibrators).size());
    }
  }
  return count;
}

void TableDraft::add(const std::string& point, std::vector<PointResult> results) {
  table.emplace(point, results[std::min(lead, results.size() - 1)]);
  if (results.size() > 1) {
    candidates.emplace(point, std::move(results));
  }
}

QuantTable settle(const SimulatedGraph& simulated, std::span<const CalibratorInfo> calibrators,
                  const Dataset& data, const CalibrateOptions& options, CalibrationAudit* audit,
                  const MakeDraft& make) {
  const std::size_t leads = count_leads(simulated, calibrators);
  if (leads == 1) {
    return make(0, options, audit).table;
  }
  const Trial trial(simulated.source, data, options);
  const auto errors_of = [&](const TableDraft& draft) {
    const Contest contest(switchable(simulated, draft.table), draft, trial);
    return contest.errors(contest.as_drafted());
  };
  std::vector<Attempt> attempts(leads);
  for (std::size_t lead = 0; lead < leads; ++lead) {
    Attempt& attempt = attempts[lead];
    attempt.draft = make(lead, part_of(options, lead, leads), &attempt.audit);
    attempt.error = expected_error(errors_of(attempt.draft));
  }
  auto best = std::min_element(attempts.begin(), attempts.end(), less_error);
  Attempt mixed = *best;
  put_least_harmful(simulated, mixed.draft, trial);
  mixed.error = expected_error(errors_of(mixed.draft));
  if (less_error(mixed, *best)) {
    *best = std::move(mixed);
  }
  exchange_candidates(simulated, best->draft, trial);
  derive_all_accumulators(simulated, best->draft.means, best->draft.table);
  unify_activations(simulated, best->draft.means, best->draft.table);
  if (audit != nullptr) {
    *audit = std::move(best->audit);
  }
  return std::move(best->draft.table);
}

}  // namespace tare
