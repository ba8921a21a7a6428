#include "pipeline/slowdown.h"

#include "graph/operators/detection_head.h"

#include <algorithm>

namespace tare {

double usual_slowdown(const Config& config, const Target& target, const Graph& prepared,
                      std::optional<double> saved) {
  // Scores hide small errors, since the largest one stays the largest. Boxes are numbers.
  constexpr double kOfDetector = 0.15;
  const double usual = slowdown_of(config, target, saved);
  return !config.slowdown && usual > 0 && !detection_head(prepared).empty()
             ? std::max(usual, kOfDetector)
             : usual;
}

}  // namespace tare
