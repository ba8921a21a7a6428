// Mixed-precision plans as a trade of time for error. Errors of points add up, nearly, so a
// plan's cost is its time plus a price times its error, and placement finds the cheapest plan
// for a price exactly, as a minimum cut (simulate/placement.h). The plans that some price leads
// to are the vertices of the convex Pareto front of time and error. They are found by the
// method for transportation problems with two criteria (Aneja and Nair, "Bicriteria
// Transportation Problem", 1979): between two vertices, take the price at which both cost the
// same; either the cut finds a cheaper plan, which is a vertex between them, or there is none.
// Plans off the convex front are missed, as with all Lagrange multipliers (Everett,
// "Generalized Lagrange Multiplier Method for Solving Problems of Optimum Allocation of
// Resources", 1963); what time that leaves is spent greedily.
//
// Cost: about two cuts for each vertex, or one for each step on the way to a single one. Each
// greedy step solves a cut for each point and region tried, going on from the flow of the last.
#include "search/mixed_precision.h"

#include "tare/simulate.h"

#include "graph/operators/product.h"
#include "simulate/placement/assigner.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Up to so many points all are tried one by one, as they are measured (sensitivities.cpp); of
/// more, those with the largest errors, as each trial is a cut of the whole network.
constexpr std::size_t kAll = 480;
constexpr std::size_t kLargest = 128;

/// A point whose sensitivity is known and that may be quantized.
struct PricedPoint {
  std::string name;
  double error = 0;
  PriceId price;
};

/// An assignment with which of the priced points it quantizes.
struct Candidate {
  Assigner assigner;
  std::vector<bool> quantized{};
  double error = 0;

  double nanoseconds() const { return assigner.nanoseconds(); }
};

/// What is exact anyway comes last.
double rank(double error) {
  return error > 0 ? error : std::numeric_limits<double>::infinity();
}

/// Finds the plans that some price of errors leads to: the convex Pareto front.
class FrontSearch {
 public:
  FrontSearch(const SimulatedGraph& simulated, const Config& config,
              std::span<const QuantPattern> patterns, const Sensitivities& errors,
              double slowdown)
      : simulated_(simulated),
        errors_(errors),
        free_(simulated.source, config, simulated.target, patterns),
        points_(priced_points()),
        points_of_regions_(points_of_regions()),
        fastest_(candidate(free_)),
        slowest_((1 + slowdown) * fastest_.nanoseconds()) {}

  /// The vertices of the convex Pareto front of time and error.
  std::vector<Candidate> front() const {
    std::vector<Candidate> result{fastest_};
    if (const auto exact = most_exact()) {
      between(fastest_, *exact, result);
      add(*exact, result);
    }
    return result;
  }

  /// The last of them, for which the others need not be found.
  Candidate last_vertex() const {
    std::vector<Candidate> result{fastest_};
    if (const auto exact = most_exact()) {
      Candidate fast = fastest_;
      Candidate slow = *exact;
      add(slow, result);
      while (const auto middle = vertex_between(fast, slow)) {
        add(*middle, result);
        (middle->nanoseconds() <= slowest_ ? fast : slow) = *middle;
      }
    }
    return *std::min_element(
        result.begin(), result.end(),
        [](const Candidate& a, const Candidate& b) { return a.error < b.error; });
  }

  /// The candidate with the least error that has one more point exact, or all those of one more
  /// region. Nothing when that takes too long or makes no difference.
  std::optional<Candidate> with_one_more(const Candidate& candidate) const {
    const Candidate start = without(free_, exact_points(candidate));
    std::optional<Candidate> best;
    const auto consider = [&](const std::vector<std::size_t>& more) {
      Candidate other = without(start.assigner, more);
      if (other.nanoseconds() <= slowest_ && other.error < (best ? *best : candidate).error) {
        best = std::move(other);
      }
    };
    const std::vector<bool> tried = largest(candidate.quantized);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (tried[i]) {
        consider({i});
      }
    }
    for (const std::vector<std::size_t>& region : points_of_regions_) {
      if (std::any_of(region.begin(), region.end(), [&](std::size_t i) { return tried[i]; })) {
        consider(region);
      }
    }
    return best;
  }

  MixedPrecisionPlan plan(const Candidate& candidate) const {
    const std::set<std::string> before = free_.on_integers();
    const std::set<std::string> after = candidate.assigner.on_integers();
    MixedPrecisionPlan result{.float_nodes = {},
                              .nanoseconds = candidate.nanoseconds(),
                              .error = candidate.error,
                              .integer_share = integer_share(after)};
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::inserter(result.float_nodes, result.float_nodes.end()));
    return result;
  }

 private:
  std::vector<PricedPoint> priced_points() const {
    std::vector<PricedPoint> result;
    for (const auto& [point, error] : errors_) {
      if (const auto price = free_.find(point)) {
        result.push_back({point, error, *price});
      }
    }
    return result;
  }

  std::vector<std::vector<std::size_t>> points_of_regions() const {
    std::map<std::string_view, std::size_t> index;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      index.emplace(points_[i].name, i);
    }
    std::vector<std::vector<std::size_t>> result;
    for (const Region& region : simulated_.regions) {
      std::vector<std::size_t>& points = result.emplace_back();
      for (const std::string& point : region.points) {
        if (const auto found = index.find(point); found != index.end()) {
          points.push_back(found->second);
        }
      }
    }
    return result;
  }

  Candidate candidate(Assigner assigner) const {
    Candidate result{.assigner = std::move(assigner)};
    result.quantized.resize(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (result.assigner.quantizes(points_[i].price)) {
        result.quantized[i] = true;
        result.error += points_[i].error;
      }
    }
    return result;
  }

  /// Where errors have that price.
  Candidate at(double price) const {
    std::vector<std::pair<PriceId, double>> prices;
    for (const PricedPoint& point : points_) {
      prices.emplace_back(point.price, price * point.error);
    }
    return candidate(free_.with(prices));
  }

  /// The fastest without these points.
  Candidate without(const Assigner& start, const std::vector<std::size_t>& points) const {
    std::vector<std::pair<PriceId, double>> prices;
    for (const std::size_t i : points) {
      prices.emplace_back(points_[i].price, 1e3 * slowest_);  // nobody pays that much
    }
    return candidate(start.with(prices));
  }

  std::vector<std::size_t> exact_points(const Candidate& candidate) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (!candidate.quantized[i]) {
        result.push_back(i);
      }
    }
    return result;
  }

  /// Of many points, those with the largest errors.
  std::vector<bool> largest(const std::vector<bool>& points) const {
    std::vector<std::pair<double, std::size_t>> by_error;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i]) {
        by_error.emplace_back(-points_[i].error, i);
      }
    }
    if (by_error.size() <= kAll) {
      return points;
    }
    std::sort(by_error.begin(), by_error.end());
    std::vector<bool> result(points.size());
    for (std::size_t i = 0; i < kLargest; ++i) {
      result[by_error[i].second] = true;
    }
    return result;
  }

  /// At such a price no time is worth any error.
  std::optional<Candidate> most_exact() const {
    const double time = fastest_.nanoseconds();
    const auto least = std::min_element(
        errors_.begin(), errors_.end(),
        [](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
    return time > 0 && least != errors_.end() && least->second > 0
               ? std::optional(at(1e3 * time / least->second))
               : std::nullopt;
  }

  double integer_share(const std::set<std::string>& on_integers) const {
    const Graph& graph = simulated_.source;
    const double all = multiplications(graph);
    double quantized = 0;
    for (const Region& region : simulated_.regions) {
      if (on_integers.contains(graph.node(region.match.root()).name)) {
        for (const NodeId id : region.match.nodes()) {
          quantized += multiplications(graph, graph.node(id));
        }
      }
    }
    for (const DynamicProduct& product : simulated_.dynamic) {
      quantized += multiplications(graph, graph.node(product.node));
    }
    return all == 0 ? 0 : quantized / all;
  }

  /// At the price at which both are worth the same, something else is worth more, or nothing is
  /// in between.
  std::optional<Candidate> vertex_between(const Candidate& fast, const Candidate& exact) const {
    if (fast.nanoseconds() >= slowest_ || fast.error <= exact.error) {
      return std::nullopt;
    }
    const double price =
        (exact.nanoseconds() - fast.nanoseconds()) / (fast.error - exact.error);
    Candidate middle = at(price);
    const double both = fast.nanoseconds() + price * fast.error;
    constexpr double kRounding = 1e-6;  // the cut counts in picoseconds
    return middle.nanoseconds() + price * middle.error < both * (1 - kRounding)
               ? std::optional(std::move(middle))
               : std::nullopt;
  }

  /// Adds the vertices between two.
  void between(const Candidate& fast, const Candidate& exact,
               std::vector<Candidate>& front) const {
    if (const auto middle = vertex_between(fast, exact)) {
      between(fast, *middle, front);
      add(*middle, front);
      between(*middle, exact, front);
    }
  }

  void add(const Candidate& vertex, std::vector<Candidate>& front) const {
    if (vertex.nanoseconds() <= slowest_ && vertex.error < front.back().error) {
      front.push_back(vertex);
    }
  }

  const SimulatedGraph& simulated_;
  const Sensitivities& errors_;
  Assigner free_;                                            ///< where time alone counts
  std::vector<PricedPoint> points_;                          ///< by name
  std::vector<std::vector<std::size_t>> points_of_regions_;  ///< indices of points_
  Candidate fastest_;
  double slowest_;
};

}  // namespace

std::vector<MixedPrecisionPlan> pareto_plans(const SimulatedGraph& simulated,
                                             const Config& config,
                                             std::span<const QuantPattern> patterns,
                                             const Sensitivities& errors, double slowdown) {
  const FrontSearch search(simulated, config, patterns, errors, slowdown);
  std::vector<MixedPrecisionPlan> result;
  for (const Candidate& candidate : search.front()) {
    result.push_back(search.plan(candidate));
  }
  return result;
}

MixedPrecisionPlan best_plan_within(const SimulatedGraph& simulated, const Config& config,
                                    std::span<const QuantPattern> patterns,
                                    const Sensitivities& errors, double slowdown) {
  const FrontSearch search(simulated, config, patterns, errors, slowdown);
  Candidate best = search.last_vertex();
  while (auto better = search.with_one_more(best)) {
    best = *std::move(better);
  }
  return search.plan(best);
}

}  // namespace tare
