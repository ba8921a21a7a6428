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
  std::size_t nodes() const { return arcs_of_.size(); }
  std::size_t add_node();
  /// `cost` >= 0 is paid when `from` is on the side of the source and `to` is not. Returns a
  /// handle of the arc.
  std::size_t add_arc(std::size_t from, std::size_t to, std::int64_t cost);

  /// For each node: whether it is on the side of the source. Of several cheapest cuts the one
  /// with fewest nodes there.
  std::vector<bool> solve() const;

  /// A flow through the arcs. When costs rise it stays one, so the next cut is found from
  /// there; a copy is a branch of the search. What it flows through must outlive it, as it is.
  class Flow {
   public:
    explicit Flow(const MinCut& cut) : cut_(&cut), left_(cut.costs_) {}

    /// Adds `by` >= 0 to the cost of an arc.
    void raise(std::size_t arc, std::int64_t by) { left_[arc] += by; }
    std::vector<bool> solve();

   private:
    struct Phase;
    bool find_levels(Phase&) const;
    bool augment(Phase&);

    const MinCut* cut_;
    std::vector<std::int64_t> left_;  ///< capacity of each arc that no flow uses
  };

 private:
  /// In pairs: the arc after or before each one goes back.
  std::vector<std::size_t> ends_;
  std::vector<std::int64_t> costs_;
  std::vector<std::vector<std::size_t>> arcs_of_;
};

}  // namespace tare
