// Which layers the target could run in float within a slowdown. Points of all others need not
// be measured. Bounds come first: the time with as little changed as it takes to leave the
// layer in float, which costs a look at the arcs around it. Only where that is too long, though
// neighbours that follow into float may save conversions, the cut is solved again from the flow
// it has.

#include "search/mixed_precision.h"
#include "simulate/placement/assigner.h"
#include "simulate/weight_blocks.h"

namespace tare {

std::set<std::string> affordable_points(const SimulatedGraph& simulated, const Config& config,
                                        std::span<const QuantPattern> patterns,
                                        double slowdown) {
  const Assigner fastest(simulated.source, config, simulated.target, patterns);
  const double limit = (1 + slowdown) * fastest.nanoseconds();
  // Nobody pays that much.
  const double price = 1e3 * limit;
  const auto is_affordable = [&](const std::vector<std::string>& weights) {
    if (fastest.nanoseconds_without(weights) <= limit) {
      return true;
    }
    // Only few layers can be so long that this leaves it open.
    std::vector<std::pair<PriceId, double>> prices;
    for (const std::string& weight : weights) {
      if (const auto id = fastest.find(weight)) {
        prices.emplace_back(*id, price);
      }
    }
    return fastest.with(prices).nanoseconds() <= limit;
  };
  std::set<std::string> result;
  for (const Region& region : simulated.regions) {
    if (has_weight_blocks(region)) {
      continue;  // asked for, so it stays whatever it costs
    }
    std::vector<std::string> weights;
    for (const std::string& point : region.points) {
      if (simulated.find(point)->role == Role::kWeight) {
        weights.push_back(point);
      }
    }
    if (!weights.empty() && is_affordable(weights)) {
      result.insert(region.points.begin(), region.points.end());
    }
  }
  return result;
}

}  // namespace tare
