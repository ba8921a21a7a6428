#include "calibrate/selection/candidate_evaluator.h"

#include "graph/operators/scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace tare {
namespace {

/// In standard errors. 1 would halve the time and lose 0.1 to 0.4 dB (decision 26).
constexpr double kClearly = 2;

void eliminate(std::vector<CandidateSetting>& contest, std::size_t runs) {
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

}  // namespace

double sum(std::span<const double> errors) {
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

double standard_error(std::span<const double> numbers) {
  const double mean = sum(numbers) / static_cast<double>(numbers.size());
  double squares = 0;
  for (const double number : numbers) {
    squares += (number - mean) * (number - mean);
  }
  return std::sqrt(squares);
}

std::vector<double> change(const CandidateSetting& a, const CandidateSetting& b,
                           std::size_t runs) {
  std::vector<double> result(runs);
  std::transform(a.errors.begin(), a.errors.begin() + static_cast<std::ptrdiff_t>(runs),
                 b.errors.begin(), result.begin(), std::minus<>());
  return result;
}

CandidateEvaluator::CandidateEvaluator(const FakeQuantizedGraph& graph,
                                       const CandidateTable& candidate_table,
                                       const Trial& trial)
    : points_(graph.points),
      candidate_table_(candidate_table),
      trial_(trial),
      executable_(up_to_scores(graph.graph), {.threads = trial.threads()}) {
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (candidate_table.candidates.contains(points_[i])) {
      open_.push_back(i);
    }
  }
}

Setting CandidateEvaluator::primary_setting() const {
  Setting setting;
  for (const std::string& point : points_) {
    setting.push_back(enabled_point(candidate_table_.table.at(point).params));
  }
  return setting;
}

std::vector<double> CandidateEvaluator::errors(const Setting& setting) const {
  return trial_.errors(executable_, {&setting, 1}, 0, trial_.runs()).front();
}

std::vector<CandidateSetting> CandidateEvaluator::candidate_settings(
    const Setting& base, std::span<const std::size_t> points) const {
  std::vector<CandidateSetting> result;
  for (std::size_t candidate = 0; candidate < most(points); ++candidate) {
    Setting setting = base;
    for (const std::size_t i : points) {
      const auto& all = candidate_table_.candidates.at(points_[i]);
      setting[i] = enabled_point(all[std::min(candidate, all.size() - 1)].params);
    }
    if (setting != base && std::none_of(result.begin(), result.end(),
                                        [&](const auto& c) { return c.setting == setting; })) {
      result.push_back({candidate, std::move(setting)});
    }
  }
  return result;
}

void CandidateEvaluator::run(std::vector<CandidateSetting>& candidate_settings,
                             std::size_t runs) const {
  std::vector<CandidateSetting>* all = &candidate_settings;
  run(std::span(&all, 1), runs);
}

void CandidateEvaluator::run(std::span<std::vector<CandidateSetting>* const> contests,
                             std::size_t runs) const {
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

void CandidateEvaluator::successive_halving(
    std::span<std::vector<CandidateSetting>> contests) const {
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

std::size_t CandidateEvaluator::most(std::span<const std::size_t> points) const {
  std::size_t most = 0;
  for (const std::size_t i : points) {
    most = std::max(most, candidate_table_.candidates.at(points_[i]).size());
  }
  return most;
}

}  // namespace tare
