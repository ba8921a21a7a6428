#include "base/min_cut.h"

#include <algorithm>

namespace tare {

std::size_t MinCut::add_node() {
  arcs_of_.emplace_back();
  return arcs_of_.size() - 1;
}

void MinCut::add_arc(std::size_t from, std::size_t to, std::int64_t cost) {
  arcs_of_[from].push_back(arcs_.size());
  arcs_.push_back({to, cost});
  arcs_of_[to].push_back(arcs_.size());
  arcs_.push_back({from, 0});
}

/// Distances from the source over arcs with capacity left; false when the sink is out of reach.
bool MinCut::find_levels() {
  constexpr std::size_t kUnreached = std::numeric_limits<std::size_t>::max();
  level_.assign(arcs_of_.size(), kUnreached);
  level_[source()] = 0;
  std::vector<std::size_t> reached{source()};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::size_t arc : arcs_of_[reached[i]]) {
      const std::size_t to = arcs_[arc].to;
      if (arcs_[arc].left > 0 && level_[to] == kUnreached) {
        level_[to] = level_[reached[i]] + 1;
        reached.push_back(to);
      }
    }
  }
  return level_[sink()] != kUnreached;
}

std::int64_t MinCut::push(std::size_t node, std::int64_t most) {
  if (node == sink()) {
    return most;
  }
  for (; next_[node] < arcs_of_[node].size(); ++next_[node]) {
    const std::size_t arc = arcs_of_[node][next_[node]];
    const std::size_t to = arcs_[arc].to;
    if (arcs_[arc].left == 0 || level_[to] != level_[node] + 1) {
      continue;
    }
    if (const std::int64_t flow = push(to, std::min(most, arcs_[arc].left)); flow > 0) {
      arcs_[arc].left -= flow;
      arcs_[arc ^ 1U].left += flow;
      return flow;
    }
  }
  return 0;
}

std::vector<bool> MinCut::solve() {
  while (find_levels()) {
    next_.assign(arcs_of_.size(), 0);
    while (push(source(), kNever) > 0) {
    }
  }
  std::vector<bool> result(arcs_of_.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = level_[i] != std::numeric_limits<std::size_t>::max();
  }
  return result;
}

}  // namespace tare
