// Dinic's algorithm: phases of breadth-first levels, then depth-first augmenting paths along
// levels, each arc given up once per phase (E. A. Dinic, "Algorithm for Solution of a Problem
// of Maximum Flow in Networks with Power Estimation", 1970). At worst it takes O(V^2 E) time
// for V nodes and E arcs. Memory: the arcs, twice. When costs rise, an old flow is still one,
// so it is kept and only what is missing is added.
#include "base/min_cut.h"

#include <algorithm>

namespace tare {

std::size_t MinCut::add_node() {
  arcs_of_.emplace_back();
  return arcs_of_.size() - 1;
}

std::size_t MinCut::add_arc(std::size_t from, std::size_t to, std::int64_t cost) {
  const std::size_t arc = ends_.size();
  arcs_of_[from].push_back(arc);
  arcs_of_[to].push_back(arc + 1);
  ends_.insert(ends_.end(), {to, from});
  costs_.insert(costs_.end(), {cost, 0});
  return arc;
}

std::vector<bool> MinCut::solve() const {
  return Flow(*this).solve();
}

namespace {

constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();

}  // namespace

struct MinCut::Flow::Phase {
  std::vector<std::size_t> levels;   ///< distances from the source
  std::vector<std::size_t> next;     ///< of each node, the first arc that may still help
  std::vector<std::size_t> reached;  ///< by distance
  std::vector<std::size_t> path;     ///< arcs
};

/// Over arcs with capacity left; false when the sink is out of reach.
bool MinCut::Flow::find_levels(Phase& phase) const {
  phase.levels.assign(cut_->nodes(), kUnreached);
  phase.levels[cut_->source()] = 0;
  phase.reached.assign(1, cut_->source());
  for (std::size_t i = 0; i < phase.reached.size(); ++i) {
    const std::size_t node = phase.reached[i];
    for (const std::size_t arc : cut_->arcs_of_[node]) {
      const std::size_t to = cut_->ends_[arc];
      if (left_[arc] > 0 && phase.levels[to] == kUnreached) {
        phase.levels[to] = phase.levels[node] + 1;
        phase.reached.push_back(to);
      }
    }
  }
  return phase.levels[cut_->sink()] != kUnreached;
}

/// Lets more flow along one shortest path; false when there is none left. Paths may be as long
/// as the network is deep, so they are walked without recursion.
bool MinCut::Flow::augment(Phase& phase) {
  phase.path.clear();
  std::size_t node = cut_->source();
  while (node != cut_->sink()) {
    const std::vector<std::size_t>& arcs = cut_->arcs_of_[node];
    std::size_t& next = phase.next[node];
    while (next < arcs.size() &&
           (left_[arcs[next]] == 0 ||
            phase.levels[cut_->ends_[arcs[next]]] != phase.levels[node] + 1)) {
      ++next;
    }
    if (next < arcs.size()) {
      phase.path.push_back(arcs[next]);
      node = cut_->ends_[arcs[next]];
    } else if (phase.path.empty()) {
      return false;
    } else {
      node = cut_->ends_[phase.path.back() ^ 1U];
      phase.path.pop_back();
      ++phase.next[node];
    }
  }
  std::int64_t flow = kNever;
  for (const std::size_t arc : phase.path) {
    flow = std::min(flow, left_[arc]);
  }
  for (const std::size_t arc : phase.path) {
    left_[arc] -= flow;
    left_[arc ^ 1U] += flow;
  }
  return true;
}

std::vector<bool> MinCut::Flow::solve() {
  Phase phase;
  while (find_levels(phase)) {
    phase.next.assign(cut_->nodes(), 0);
    while (augment(phase)) {
    }
  }
  std::vector<bool> result(cut_->nodes());
  std::transform(phase.levels.begin(), phase.levels.end(), result.begin(),
                 [](std::size_t level) { return level != kUnreached; });
  return result;
}

}  // namespace tare
