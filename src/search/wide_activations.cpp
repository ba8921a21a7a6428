// Mixed precision of 8 and 16 bits, for devices on which integers are all there is. The error
// of the network is nearly the sum of those of its points, so what to widen is a knapsack
// problem, solved greedily by gain for each unit of time (Dantzig, "Discrete-Variable Extremum
// Problems", 1957). Widening a value makes operators slower that its neighbours then need not
// pay for again: each step looks at these anew. Time: a heap operation for each value and
// neighbour.
#include "search/wide_activations.h"

#include "tare/graph.h"

#include "graph/operators/product.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Of one run, in multiplications or elements.
double time_of(const Graph& graph, const Node& node) {
  double elements = 0;
  for (const ValueId output : node.outputs) {
    elements += static_cast<double>(element_count(graph.type(output).shape));
  }
  return std::max(multiplications(graph, node), elements);
}

class Widener {
 public:
  Widener(const SimulatedGraph& simulated, const std::set<std::string>& candidates,
          const Sensitivities& errors)
      : graph_(simulated.source) {
    for (const Region& region : simulated.regions) {
      for (const NodeId id : region.match.nodes()) {
        layer_of_.emplace(id, region.match.root());
      }
      for (const NodeId id : fused_activations(graph_, region)) {
        layer_of_.emplace(id, region.match.root());
      }
    }
    for (const NodeId id : graph_.nodes()) {
      const double time = time_of(graph_, graph_.node(id));
      times_[layer_of(id)] += time;
      network_ += time;
    }
    std::map<std::string, std::size_t> group_of;
    for (const std::vector<std::string>& names : simulated.unified) {
      for (const std::string& name : names) {
        group_of.emplace(name, groups_.size());
      }
      groups_.emplace_back();
    }
    for (const QuantPoint& point : simulated.points) {
      const auto error = errors.find(point.name);
      if (error == errors.end()) {
        continue;
      }
      if (point.role == Role::kWeight) {
        of_weights_ += error->second;
      } else if (point.role == Role::kActivation) {
        of_activations_ += error->second;
        const auto [found, is_new] = group_of.emplace(point.name, groups_.size());
        if (is_new) {
          groups_.emplace_back();
        }
        add(point, error->second, candidates.contains(point.name), groups_[found->second]);
      }
    }
  }

  std::set<std::string> within(double slowdown) {
    const double limit = slowdown * network_;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      offer(i);
    }
    std::set<std::string> result;
    while (!best_.empty() && of_activations_ > of_weights_) {
      const auto [gain, i] = best_.top();
      best_.pop();
      Group& group = groups_[i];
      // Since it was offered it may have become cheaper, and was offered again.
      if (group.is_wide || gain != gain_of(group) || spent_ + group.cost > limit) {
        continue;
      }
      spent_ += group.cost;
      of_activations_ -= group.error;
      group.is_wide = true;
      result.insert(group.names.begin(), group.names.end());
      widen(group);
    }
    return result;
  }

  double time() const { return network_ + spent_; }
  double error() const { return of_weights_ + of_activations_; }

 private:
  /// Values that share parameters, often one.
  struct Group {
    std::vector<std::string> names;
    std::set<NodeId> layers;  ///< which read or compute them
    double error = 0;
    double cost = 0;  ///< the time of those of them that are on 8 bits
    bool may_be_wide = true;
    bool is_wide = false;
  };

  void add(const QuantPoint& point, double error, bool is_candidate, Group& group) {
    group.names.push_back(point.name);
    group.error += error;
    group.may_be_wide = group.may_be_wide && is_candidate;
    const auto touch = [&](NodeId node) {
      const NodeId id = layer_of(node);
      if (group.layers.insert(id).second) {
        group.cost += times_.at(id);
        groups_of_[id].push_back(static_cast<std::size_t>(&group - groups_.data()));
      }
    };
    if (const auto producer = graph_.producer(point.value)) {
      touch(*producer);
    }
    const std::vector<NodeId>& users = graph_.users(point.value);
    std::for_each(users.begin(), users.end(), touch);
  }

  /// The node that stands for all that run as one.
  NodeId layer_of(NodeId id) const {
    const auto found = layer_of_.find(id);
    return found == layer_of_.end() ? id : found->second;
  }

  /// What is free counts as next to free, so that the larger error comes first.
  double gain_of(const Group& group) const {
    constexpr double kFree = 1e-6;
    return group.error / (group.cost + kFree * network_);
  }

  void offer(std::size_t i) {
    const Group& group = groups_[i];
    if (group.may_be_wide && !group.is_wide && group.error > 0) {
      best_.emplace(gain_of(group), i);
    }
  }

  /// Its layers have taken their time now.
  void widen(const Group& group) {
    std::set<std::size_t> cheaper;
    for (const NodeId id : group.layers) {
      if (const double time = std::exchange(times_.at(id), 0); time > 0) {
        for (const std::size_t i : groups_of_.at(id)) {
          groups_[i].cost -= time;
          cheaper.insert(i);
        }
      }
    }
    for (const std::size_t i : cheaper) {
      offer(i);
    }
  }

  const Graph& graph_;
  std::map<NodeId, NodeId> layer_of_;
  std::map<NodeId, double> times_;  ///< of layers on 8 bits; 0 once they are on 16
  double network_ = 0;              ///< all of these
  double spent_ = 0;                ///< for those on 16 bits
  double of_weights_ = 0;           ///< errors
  double of_activations_ = 0;
  std::vector<Group> groups_;
  std::map<NodeId, std::vector<std::size_t>> groups_of_;  ///< by layer
  std::priority_queue<std::pair<double, std::size_t>> best_;
};

}  // namespace

std::set<std::string> wide_activations(const SimulatedGraph& simulated,
                                       const std::set<std::string>& candidates,
                                       const Sensitivities& errors, double slowdown) {
  return Widener(simulated, candidates, errors).within(slowdown);
}

std::vector<MixedPrecisionPlan> wide_activation_plans(const SimulatedGraph& simulated,
                                                      const std::set<std::string>& candidates,
                                                      const Sensitivities& errors) {
  std::vector<MixedPrecisionPlan> result;
  for (const double slowdown : {0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0}) {
    Widener widener(simulated, candidates, errors);
    (void)widener.within(slowdown);
    if (result.empty() || widener.error() < result.back().error) {
      result.push_back({.float_nodes = {},
                        .slowdown = slowdown,
                        .nanoseconds = widener.time(),
                        .error = widener.error(),
                        .integer_share = 1});
    }
  }
  return result;
}

}  // namespace tare
