// What a histogram says about its values, for calibrators: filled bins as intervals, cut to the
// observed range. The outermost bins may reach beyond it by nearly their whole width, and a
// tensor of one value would look like a spread. One pass over the bins.

#include "tare/arithmetic.h"
#include "tare/calibrator.h"

#include <algorithm>

namespace tare {

std::vector<HistogramSegment> histogram_segments(const TensorStatistics& observed) {
  std::vector<HistogramSegment> result;
  const std::vector<std::uint64_t> bins = observed.bins();
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) {
      continue;
    }
    const double from =
        (static_cast<double>(i) - TensorStatistics::kBins / 2.0) * observed.bin_width();
    result.push_back({std::clamp(from, observed.low(), observed.high()),
                      std::clamp(from + observed.bin_width(), observed.low(), observed.high()),
                      bins[i]});
  }
  return result;
}

Range range_with_zero(const TensorStatistics& observed) {
  return {std::min(observed.low(), 0.0), std::max(observed.high(), 0.0)};
}

}  // namespace tare
