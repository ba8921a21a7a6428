#pragma once

#include "tare/calibrator.h"

#include <cstdint>
#include <vector>

namespace tare {

/// Values between `from` and `to`, taken as evenly spread; as equal when the two are.
struct HistogramSegment {
  double from = 0;
  double to = 0;
  std::uint64_t count = 0;  ///< not 0

  double width() const { return to - from; }
  double middle() const { return (from + to) / 2; }
  friend bool operator==(const HistogramSegment&, const HistogramSegment&) = default;
};

/// The bins that hold anything, from the lowest to the highest and cut to the observed range,
/// so that a single value stays one. Exact zeros are not among them.
std::vector<HistogramSegment> histogram_segments(const TensorStatistics&);

/// The observed range, widened to hold 0.
Range range_with_zero(const TensorStatistics&);

}  // namespace tare
