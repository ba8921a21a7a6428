#include "tare/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tare {

std::set<std::string> affordable_points(const SimulatedGraph& simulated, const Config& config,
                                        std::span<const QuantPattern> patterns,
                                        double slowdown) {
  const Graph& graph = simulated.source;
  const double limit =
      (1 + slowdown) * assign(graph, config, simulated.target, patterns, {}).nanoseconds;
  std::set<std::string> result;
  for (const Region& region : simulated.regions) {
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

std::set<std::string> nodes_for_accuracy(const SimulatedGraph& simulated, const Config& config,
                                         std::span<const QuantPattern> patterns,
                                         const std::map<std::string, double>& point_errors,
                                         double slowdown) {
  const auto at = [&](double price) {
    std::map<std::string, double> prices;
    for (const auto& [point, error] : point_errors) {
      prices.emplace(point, price * error);
    }
    return assign(simulated.source, config, simulated.target, patterns, prices);
  };
  const Assignment fastest = at(0);
  double least = 0;
  double most = 0;
  for (const auto& [point, error] : point_errors) {
    least = error > 0 && (least == 0 || error < least) ? error : least;
    most = std::max(most, error);
  }
  if (fastest.nanoseconds == 0 || most == 0) {
    return {};
  }
  // The time never falls as the price of errors rises: the highest price that is affordable.
  constexpr int kHalvings = 24;
  double low = std::log(1e-3 * fastest.nanoseconds / most);
  double high = std::log(1e3 * fastest.nanoseconds / least);
  Assignment best = fastest;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    Assignment tried = at(std::exp(middle));
    if (tried.nanoseconds <= (1 + slowdown) * fastest.nanoseconds) {
      low = middle;
      best = std::move(tried);
    } else {
      high = middle;
    }
  }
  std::set<std::string> result;
  std::set_difference(fastest.on_integers.begin(), fastest.on_integers.end(),
                      best.on_integers.begin(), best.on_integers.end(),
                      std::inserter(result, result.end()));
  return result;
}

}  // namespace tare
