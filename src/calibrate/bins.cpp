#include "tare/bins.h"

#include <algorithm>

namespace tare {

std::vector<Stretch> stretches(const Summary& seen) {
  std::vector<Stretch> result;
  const std::vector<std::uint64_t> bins = seen.bins();
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) {
      continue;
    }
    const double from = (static_cast<double>(i) - Summary::kBins / 2.0) * seen.bin_width();
    result.push_back({std::clamp(from, seen.low(), seen.high()),
                      std::clamp(from + seen.bin_width(), seen.low(), seen.high()), bins[i]});
  }
  return result;
}

Range seen_and_zero(const Summary& seen) {
  return {std::min(seen.low(), 0.0), std::max(seen.high(), 0.0)};
}

}  // namespace tare
