#pragma once

#include "tare/calibrator.h"

#include <cstdint>
#include <vector>

namespace tare {

/// Values between `from` and `to`, taken as evenly spread; as equal when the two are.
struct Stretch {
  double from = 0;
  double to = 0;
  std::uint64_t count = 0;  ///< not 0

  double width() const { return to - from; }
  double middle() const { return (from + to) / 2; }
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// The bins of a summary that hold anything, from the lowest to the highest and cut to the
/// range that was seen, so that a single value stays one. Exact zeros are not among them.
std::vector<Stretch> stretches(const Summary&);

/// The range that was seen, widened to hold 0.
Range seen_and_zero(const Summary&);

}  // namespace tare
