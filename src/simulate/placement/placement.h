#pragma once

#include "tare/simulate.h"

#include "base/min_cut.h"
#include "simulate/settings.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tare {

// Placement as a minimum cut (docs/decisions/0014-placement-is-a-minimum-cut.md). Each region,
// and each operator that can go along with its neighbours, is a node on one of two sides:
// integers, with the source, or floats, with the sink. Its time in float is the cost of an arc
// from the source, its time on integers that of an arc to the sink. A value computed on one
// side and read on the other costs its conversion, once for all readers by way of a node of its
// own, and a change of layout for each. To share the modules of a program among two processors,
// with costs between these, is the same problem and has the same solution (Stone,
// "Multiprocessor Scheduling with the Aid of Network Flow Algorithms", 1977). It is exact. The
// cut has a few nodes and arcs for each value; base/min_cut.h says what solving it takes.

/// A value or weight of a PlacementProblem that may have a price.
struct PriceId {
  std::size_t index = 0;
};

/// Where a region runs on integers, or why it does not.
struct Placement {
  bool on_integers = true;
  std::string reason{};  ///< empty on integers; this and the next as in KeptFloat
  std::string detail{};
};

/// For each region of a graph whether it runs on integers, so that the target takes the least
/// time in all, conversions between integers and floats included: a minimum cut. Layers that
/// the target gives no cost for, and all layers with weights under Objective::kSize, run on
/// integers.
std::vector<Placement> place(const Graph&, const Settings&, std::span<const Region>);

/// What the target takes for the network where these regions run on integers and the
/// others in float, conversions included, and nothing else does where none of them do. By the
/// same costs.
double predicted_nanoseconds(const Graph&, const Settings&, std::span<const Region>,
                             const std::vector<bool>& on_integers);

/// The same as a problem that is stated once, and solved for any prices. Prices, of a value or
/// weight, are nanoseconds that are paid in addition, but not counted, where it is quantized.
/// A solution says of each node of the cut whether it is on integers.
class PlacementProblem {
 public:
  PlacementProblem(const Graph&, const Settings&, std::span<const Region>);
  /// With only one way for the regions, whatever is best.
  PlacementProblem(const Graph&, const Settings&, std::span<const Region>,
                   const std::vector<bool>& on_integers);

  const MinCut& cut() const { return cut_; }
  /// Nothing of a name that cannot have a price, as it is never quantized.
  std::optional<PriceId> find(const std::string& name) const {
    const auto found = price_of_.find(name);
    return found == price_of_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Lets `flow` have one more price.
  void raise(PriceId, double nanoseconds, MinCut::Flow& flow) const;

  bool on_integers(std::size_t region, const std::vector<bool>& solution) const {
    return solution[sides_[region]];
  }
  bool quantizes(PriceId, const std::vector<bool>& solution) const;
  /// Conversions included, and what is in float in any case, as the target says.
  double nanoseconds(const std::vector<bool>& solution) const;
  /// The same with as little else changed as it takes to quantize none of these, which is not
  /// always the best that can be done about them; infinite where that is out of the question.
  /// Takes as long as there are arcs around them.
  double nanoseconds_without(std::span<const std::string> names,
                             const std::vector<bool>& solution) const;

 private:
  friend class PlacementStatement;
  struct Time {
    std::size_t from;
    std::size_t to;
    std::int64_t picoseconds;
    bool is_paid(const std::vector<bool>& solution) const {
      return solution[from] && !solution[to];
    }
  };
  struct PricedArc {
    std::size_t from;
    std::size_t to;
    std::size_t arc;
  };

  MinCut cut_;
  std::vector<std::size_t> sides_;  ///< of each region, its node in the cut
  double in_float_ = 0;             ///< nanoseconds of what has no choice
  std::vector<Time> times_;
  std::vector<std::vector<std::size_t>> times_of_;  ///< of each node, the times beside it
  std::vector<std::vector<std::size_t>> tied_to_;   ///< that are float where that one is
  std::vector<std::vector<PricedArc>> priced_;
  std::map<std::string, PriceId, std::less<>> price_of_;
};

}  // namespace tare
