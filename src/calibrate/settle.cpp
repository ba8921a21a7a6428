#include "calibrate/settle.h"

#include "calibrate/choose.h"
#include "calibrate/trial.h"
#include "calibrate/unify.h"
#include "graph/scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tare {
namespace {

/// Runs after which candidates that do much worse are out.
constexpr std::size_t kHeat = 16;
constexpr std::size_t kGroups = 32;

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

  /// Adds the errors of the runs [first, end).
  void run(std::vector<Contender>& contenders, std::size_t first, std::size_t end) const {
    std::vector<Setting> settings;
    for (const Contender& c : contenders) {
      settings.push_back(c.setting);
    }
    const auto errors = trial_.errors(executable_, settings, first, end);
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      contenders[i].errors.insert(contenders[i].errors.end(), errors[i].begin(),
                                  errors[i].end());
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

/// For each point the candidate with the least error while nothing else is quantized.
void put_least_harmful(const SimulatedGraph& simulated, TableDraft& draft, const Trial& trial) {
  QuantTable activations;
  for (const auto& [name, result] : draft.table) {
    if (simulated.find(name)->role == Role::kActivation) {
      activations.emplace(name, result);
    }
  }
  const Contest contest(switchable(simulated, activations), draft, trial);
  for (const std::size_t point : contest.open()) {
    std::vector<Contender> contenders = contest.contenders(contest.all_off(), {&point, 1});
    if (contenders.size() < 2) {
      continue;
    }
    contest.run(contenders, 0, trial.runs());
    const auto best = std::min_element(
        contenders.begin(), contenders.end(), [](const Contender& a, const Contender& b) {
          return expected_error(a.errors) < expected_error(b.errors);
        });
    put(draft, contest.name(point), best->candidate);
  }
}

/// Exchanges candidates while the error falls by more than chance would have it.
void exchange_candidates(const SimulatedGraph& simulated, TableDraft& draft,
                         const Trial& trial) {
  constexpr double kClearlyWorse = 1.02;
  const Contest contest(switchable(simulated, draft.table), draft, trial);
  Setting best = contest.as_drafted();
  std::vector<double> errors = contest.errors(best);
  const std::size_t heat = std::min(kHeat, trial.runs());
  const std::span<const std::size_t> open = contest.open();
  const std::size_t size = (open.size() + kGroups - 1) / kGroups;
  for (std::size_t first = 0; first < open.size(); first += size) {
    const auto points = open.subspan(first, std::min(size, open.size() - first));
    std::vector<Contender> contenders = contest.contenders(best, points);
    contest.run(contenders, 0, heat);
    const double limit = kClearlyWorse * sum(std::span(errors).first(heat));
    std::erase_if(contenders, [&](const Contender& c) { return sum(c.errors) > limit; });
    contest.run(contenders, heat, trial.runs());
    for (const Contender& c : contenders) {
      std::vector<double> change = c.errors;
      for (std::size_t i = 0; i < change.size(); ++i) {
        change[i] -= errors[i];
      }
      if (sum(change) < -standard_error(change)) {
        best = c.setting;
        errors = c.errors;
        for (const std::size_t point : points) {
          put(draft, contest.name(point), c.candidate);
        }
      }
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
  Trial trial(simulated.source, data, options);
  const auto errors_of = [&](const TableDraft& draft) {
    const Contest contest(switchable(simulated, draft.table), draft, trial);
    return contest.errors(contest.as_drafted());
  };
  std::vector<Attempt> attempts(leads);
  std::vector<std::vector<double>> errors;
  for (std::size_t lead = 0; lead < leads; ++lead) {
    Attempt& attempt = attempts[lead];
    attempt.draft = make(lead, part_of(options, lead, leads), &attempt.audit);
    errors.push_back(errors_of(attempt.draft));
  }
  trial.level_runs(errors);
  for (std::size_t lead = 0; lead < leads; ++lead) {
    attempts[lead].error = expected_error(errors[lead]);
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
