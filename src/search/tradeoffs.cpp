#include "tare/search.h"

#include "graph/product.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace tare {
namespace {

/// Assignments at the corners of the lower hull of time and error, found by pricing errors.
class Hull {
 public:
  Hull(const SimulatedGraph& simulated, const Config& config,
       std::span<const QuantPattern> patterns, const PointErrors& errors)
      : simulated_(simulated), config_(config), patterns_(patterns), errors_(errors) {}

  std::vector<Tradeoff> corners(double slowdown) {
    const Tradeoff fastest = at(0);
    slowest_ = (1 + slowdown) * fastest.nanoseconds;
    corners_ = {fastest};
    const auto least = std::min_element(
        errors_.begin(), errors_.end(),
        [](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
    if (fastest.nanoseconds > 0 && least != errors_.end() && least->second > 0) {
      // At such a price no time is worth any error.
      const Tradeoff exact = at(1e3 * fastest.nanoseconds / least->second);
      between(fastest, exact);
      add(exact);
    }
    return std::move(corners_);
  }

 private:
  /// What is exact anyway comes last.
  static double rank(double error) {
    return error > 0 ? error : std::numeric_limits<double>::infinity();
  }

  Tradeoff at(double price) {
    std::map<std::string, double> prices;
    for (const auto& [point, error] : errors_) {
      prices.emplace(point, price * error);
    }
    const Assignment chosen =
        assign(simulated_.source, config_, simulated_.target, patterns_, prices);
    if (price == 0) {
      on_integers_ = chosen.on_integers;
    }
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
    return result;
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
  void between(const Tradeoff& fast, const Tradeoff& exact) {
    if (fast.nanoseconds >= slowest_ || fast.error <= exact.error) {
      return;
    }
    const double price = (exact.nanoseconds - fast.nanoseconds) / (fast.error - exact.error);
    const Tradeoff middle = at(price);
    const double both = fast.nanoseconds + price * fast.error;
    constexpr double kRounding = 1e-6;  // the cut counts in picoseconds
    if (middle.nanoseconds + price * middle.error < both * (1 - kRounding)) {
      between(fast, middle);
      add(middle);
      between(middle, exact);
    }
  }

  void add(const Tradeoff& corner) {
    if (corner.nanoseconds <= slowest_ && corner.error < corners_.back().error) {
      corners_.push_back(corner);
    }
  }

  const SimulatedGraph& simulated_;
  const Config& config_;
  std::span<const QuantPattern> patterns_;
  const PointErrors& errors_;
  std::set<std::string> on_integers_;  ///< where time alone counts
  double slowest_ = 0;
  std::vector<Tradeoff> corners_;
};

}  // namespace

std::vector<Tradeoff> best_tradeoffs(const SimulatedGraph& simulated, const Config& config,
                                     std::span<const QuantPattern> patterns,
                                     const PointErrors& errors, double slowdown) {
  return Hull(simulated, config, patterns, errors).corners(slowdown);
}

}  // namespace tare
