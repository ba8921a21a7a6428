#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tare {

/// The cheapest way to give each of many nodes one of two sides, where arcs whose ends are on
/// different sides cost: a minimum cut. By maximum flow along shortest paths in phases (E. A.
/// Dinic, 1970), exact, and fast enough for thousands of nodes.
class MinCut {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

  MinCut() : arcs_of_(2) {}

  std::size_t source() const { return 0; }
  std::size_t sink() const { return 1; }
  std::size_t add_node();
  /// `cost` >= 0 is paid when `from` is on the side of the source and `to` is not.
  void add_arc(std::size_t from, std::size_t to, std::int64_t cost);

  /// For each node: whether it is on the side of the source. Of several cheapest cuts the one
  /// with fewest nodes there.
  std::vector<bool> solve();

 private:
  struct Arc {
    std::size_t to;
    std::int64_t left;  ///< capacity that no flow uses; the arc after or before it goes back
  };

  bool find_levels();
  std::int64_t push(std::size_t node, std::int64_t most);

  std::vector<Arc> arcs_;  ///< in pairs
  std::vector<std::vector<std::size_t>> arcs_of_;
  std::vector<std::size_t> level_;
  std::vector<std::size_t> next_;
};

}  // namespace tare
