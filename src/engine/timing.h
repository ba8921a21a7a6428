#pragma once

#include "tare/execute.h"

#include "engine/engine.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tare {

/// Samples of some models that ran in turn: the same index is the same round.
struct Timing {
  std::vector<std::vector<double>> nanoseconds;

  std::size_t rounds() const { return nanoseconds.empty() ? 0 : nanoseconds[0].size(); }
  Quartiles of(std::size_t model) const;
  /// Of the time of one to that of another, see SpeedComparison::ratio.
  ConfidenceInterval ratio(std::size_t first, std::size_t second) const;
};

/// The median of values, and the bounds that their order gives. Not of none.
ConfidenceInterval median_interval(std::vector<double>);

/// Models that are timed against the first of them, in rounds, until the bounds of all ratios
/// to it are as close as wanted, or the time is up.
Timing time_in_turn(Engine&, std::span<const LoadedModel>, const MeasureOptions&);

}  // namespace tare
