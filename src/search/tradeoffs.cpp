#include "tare/search.h"

#include "graph/product.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

namespace tare {
namespace {

/// A way with the values and weights that it quantizes, of those whose errors are known.
struct Way {
  Tradeoff tradeoff;
  std::set<std::string> quantized{};
};

/// What is exact anyway comes last.
double rank(double error) {
  return error > 0 ? error : std::numeric_limits<double>::infinity();
}

/// The ways to share a network out that prices of errors lead to.
class Ways {
 public:
  Ways(const SimulatedGraph& simulated, const Config& config,
       std::span<const QuantPattern> patterns, const PointErrors& errors, double slowdown)
      : simulated_(simulated),
        config_(config),
        patterns_(patterns),
        errors_(errors),
        on_integers_(assigned({}).on_integers),
        fastest_(at(0)),
        slowest_((1 + slowdown) * fastest_.tradeoff.nanoseconds) {}

  /// Those at the corners of the lower hull of time and error.
  std::vector<Way> corners() const {
    std::vector<Way> result{fastest_};
    const double time = fastest_.tradeoff.nanoseconds;
    const auto least = std::min_element(
        errors_.begin(), errors_.end(),
        [](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
    if (time > 0 && least != errors_.end() && least->second > 0) {
      // At such a price no time is worth any error.
      const Way exact = at(1e3 * time / least->second);
      between(fastest_, exact, result);
      add(exact, result);
    }
    return result;
  }

  /// The way with the least error that has one more point exact, or all those of one more
  /// region. Nothing when that takes too long or makes no difference.
  std::optional<Way> with_one_more(const Way& way) const {
    std::set<std::string> exact;
    for (const auto& [point, error] : errors_) {
      if (!way.quantized.contains(point)) {
        exact.insert(point);
      }
    }
    std::optional<Way> best;
    const auto consider = [&](const std::set<std::string>& more) {
      Way other = without(exact, more);
      if (other.tradeoff.nanoseconds <= slowest_ &&
          other.tradeoff.error < (best ? *best : way).tradeoff.error) {
        best = std::move(other);
      }
    };
    for (const std::string& point : way.quantized) {
      consider({point});
    }
    for (const Region& region : simulated_.regions) {
      consider({region.points.begin(), region.points.end()});
    }
    return best;
  }

 private:
  Assignment assigned(const std::map<std::string, double>& prices) const {
    return assign(simulated_.source, config_, simulated_.target, patterns_, prices);
  }

  /// Where errors have that price.
  Way at(double price) const {
    std::map<std::string, double> prices;
    for (const auto& [point, error] : errors_) {
      prices.emplace(point, price * error);
    }
    return way(assigned(prices));
  }

  /// The fastest without these points and those.
  Way without(const std::set<std::string>& these, const std::set<std::string>& those) const {
    std::map<std::string, double> prices;
    for (const auto& [point, error] : errors_) {
      // Nobody pays that much.
      prices.emplace(point,
                     these.contains(point) || those.contains(point) ? 1e3 * slowest_ : 0);
    }
    return way(assigned(prices));
  }

  Way way(Assignment chosen) const {
    Tradeoff result{.float_nodes = {},
                    .nanoseconds = chosen.nanoseconds,
                    .error = 0,
                    .integer_share = integer_share(chosen)};
    std::set_difference(on_integers_.begin(), on_integers_.end(), chosen.on_integers.begin(),
                        chosen.on_integers.end(),
                        std::inserter(result.float_nodes, result.float_nodes.end()));
    for (const std::string& point : chosen.quantized) {
      result.error += errors_.at(point);
    }
    return {std::move(result), std::move(chosen.quantized)};
  }

  double integer_share(const Assignment& chosen) const {
    const Graph& graph = simulated_.source;
    double all = 0;
    for (const NodeId id : graph.nodes()) {
      all += multiplications(graph, graph.node(id));
    }
    double quantized = 0;
    for (const Region& region : simulated_.regions) {
      if (chosen.on_integers.contains(graph.node(region.match.root()).name)) {
        for (const NodeId id : region.match.nodes()) {
          quantized += multiplications(graph, graph.node(id));
        }
      }
    }
    return all == 0 ? 0 : quantized / all;
  }

  /// Adds the corners between two: at the price at which both are worth the same, something
  /// else is worth more, or nothing is in between.
  void between(const Way& fast_way, const Way& exact_way, std::vector<Way>& corners) const {
    const Tradeoff& fast = fast_way.tradeoff;
    const Tradeoff& exact = exact_way.tradeoff;
    if (fast.nanoseconds >= slowest_ || fast.error <= exact.error) {
      return;
    }
    const double price = (exact.nanoseconds - fast.nanoseconds) / (fast.error - exact.error);
    const Way middle = at(price);
    const double both = fast.nanoseconds + price * fast.error;
    constexpr double kRounding = 1e-6;  // the cut counts in picoseconds
    if (middle.tradeoff.nanoseconds + price * middle.tradeoff.error < both * (1 - kRounding)) {
      between(fast_way, middle, corners);
      add(middle, corners);
      between(middle, exact_way, corners);
    }
  }

  void add(const Way& corner, std::vector<Way>& corners) const {
    if (corner.tradeoff.nanoseconds <= slowest_ &&
        corner.tradeoff.error < corners.back().tradeoff.error) {
      corners.push_back(corner);
    }
  }

  const SimulatedGraph& simulated_;
  const Config& config_;
  std::span<const QuantPattern> patterns_;
  const PointErrors& errors_;
  std::set<std::string> on_integers_;  ///< where time alone counts
  Way fastest_;
  double slowest_;
};

}  // namespace

std::vector<Tradeoff> best_tradeoffs(const SimulatedGraph& simulated, const Config& config,
                                     std::span<const QuantPattern> patterns,
                                     const PointErrors& errors, double slowdown) {
  std::vector<Tradeoff> result;
  for (Way& way : Ways(simulated, config, patterns, errors, slowdown).corners()) {
    result.push_back(std::move(way.tradeoff));
  }
  return result;
}

Tradeoff best_within(const SimulatedGraph& simulated, const Config& config,
                     std::span<const QuantPattern> patterns, const PointErrors& errors,
                     double slowdown) {
  const Ways ways(simulated, config, patterns, errors, slowdown);
  Way best = ways.corners().back();
  while (auto better = ways.with_one_more(best)) {
    best = *std::move(better);
  }
  return best.tradeoff;
}

}  // namespace tare
