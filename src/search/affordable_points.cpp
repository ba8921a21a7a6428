#include "tare/search.h"

#include "simulate/weight_blocks.h"

namespace tare {

std::set<std::string> affordable_points(const SimulatedGraph& simulated, const Config& config,
                                        std::span<const QuantPattern> patterns,
                                        double slowdown) {
  const Graph& graph = simulated.source;
  const double limit =
      (1 + slowdown) * assign(graph, config, simulated.target, patterns, {}).nanoseconds;
  std::set<std::string> result;
  for (const Region& region : simulated.regions) {
    if (has_weight_blocks(region)) {
      continue;  // asked for, so it stays whatever it costs
    }
    // Nobody pays that much.
    const double price = 1e3 * limit;
    std::map<std::string, double> prices;
    for (const std::string& point : region.points) {
      if (simulated.find(point)->role == Role::kWeight) {
        prices.emplace(point, price);
      }
    }
    if (!prices.empty() &&
        assign(graph, config, simulated.target, patterns, prices).nanoseconds <= limit) {
      result.insert(region.points.begin(), region.points.end());
    }
  }
  return result;
}

}  // namespace tare
