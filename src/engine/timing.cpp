// Times models in turn. What disturbs the machine disturbs all of them, so their ratio in each
// round is steadier than their times, and its median does not mind some rounds that were
// disturbed for one of them alone.
#include "engine/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

/// Clocks and calls count for little in a sample that takes so long.
constexpr double kShortestSample = 4e5;
constexpr std::size_t kMostRuns = 1000;
constexpr std::size_t kFewestRounds = 11;
/// Rounds of a request to the engine, so that progress is shown and time is kept.
constexpr double kRequestNanoseconds = 4e8;

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void append_rounds(Timing& timing, const std::vector<std::vector<double>>& more) {
  timing.nanoseconds.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) {
    timing.nanoseconds[i].insert(timing.nanoseconds[i].end(), more[i].begin(), more[i].end());
  }
}

/// The farthest bound of any ratio to the first model, relative to it.
double widest_bound(const Timing& timing) {
  double widest = 0;
  for (std::size_t i = 1; i < timing.nanoseconds.size(); ++i) {
    const ConfidenceInterval ratio = timing.ratio(0, i);
    widest = std::max({widest, ratio.high / ratio.value - 1, 1 - ratio.low / ratio.value});
  }
  return widest;
}

}  // namespace

ConfidenceInterval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  // So many of n values are below the median with a probability of 2.5 %: the normal
  // approximation of the binomial distribution.
  const auto n = static_cast<double>(values.size());
  const double rank = std::floor((n - 1.96 * std::sqrt(n)) / 2);
  const auto outside = static_cast<std::size_t>(std::max(rank - 1, 0.0));
  return {values[outside], quantile(values, 0.5), values[values.size() - 1 - outside]};
}

Quartiles Timing::of(std::size_t model) const {
  std::vector<double> values = nanoseconds[model];
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

ConfidenceInterval Timing::ratio(std::size_t first, std::size_t second) const {
  std::vector<double> ratios(rounds());
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] = nanoseconds[first][i] / nanoseconds[second][i];
  }
  return median_interval(std::move(ratios));
}

Timing time_in_turn(Engine& engine, std::span<const LoadedModel> models,
                    const MeasureOptions& options) {
  const auto start = Clock::now();
  std::vector<std::size_t> runs(models.size(), 1);
  const auto first = engine.time(models, runs, 1);
  double round = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    runs[i] = static_cast<std::size_t>(std::clamp(std::ceil(kShortestSample / first[i][0]), 1.0,
                                                  static_cast<double>(kMostRuns)));
    round += first[i][0] * static_cast<double>(runs[i]);
  }
  const auto rounds = static_cast<std::size_t>(
      std::clamp(kRequestNanoseconds / round, 1.0, static_cast<double>(kFewestRounds)));
  Timing timing;
  for (;;) {
    append_rounds(timing, engine.time(models, runs, rounds));
    const double seconds = seconds_since(start);
    if (options.progress) {
      options.progress(static_cast<std::size_t>(std::min(seconds / options.seconds, 1.0) * 100),
                       100);
    }
    if (timing.rounds() >= kFewestRounds &&
        (seconds >= options.seconds || widest_bound(timing) <= options.precision)) {
      return timing;
    }
    // Models of seconds are not run eleven times where nobody wants to wait for it.
    if (timing.rounds() >= 3 && seconds >= 3 * options.seconds) {
      return timing;
    }
  }
}

}  // namespace tare
