// A search along a grid that refines itself. Distances from 0 are a constant factor apart, as
// it is the ratio of two ranges that matters and not their difference. Around the best one the
// grid becomes four times as fine, again and again. Places are tried rather than slopes
// followed, because costs have many small local minima: zero points are rounded, for one. The
// two ends are searched together first and then each alone; pairs of ends would be a grid in
// two dimensions.
//
// Cost: about 120 evaluations for each search along a grid of 8 steps per octave, as `mse` has
// it, and 370 for 32, as `kl`. Asymmetric storage of values on both sides of 0 takes three
// searches.

#include "tare/arithmetic.h"
#include "tare/calibrator.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// The best range so far.
class Search {
 public:
  Search(const Range& start, const RangeCost& cost)
      : cost_(&cost), best_(start), least_(cost(start)) {}

  const Range& best() const { return best_; }

  /// Takes the candidate when it costs less.
  bool offer(const Range& candidate) {
    const double cost = (*cost_)(candidate);
    if (!(cost < least_)) {
      return false;
    }
    best_ = candidate;
    least_ = cost;
    return true;
  }

  /// Offers `with(distance)` for distances from `widest` down to `narrowest`, first coarsely,
  /// then ever finer around the best one; `best` is that of the best range so far.
  template <class With>
  void descend(double best, double widest, double narrowest, int steps_per_octave, With with) {
    double nearest = widest;
    double furthest = narrowest;
    for (int steps = steps_per_octave; steps <= kFinest; steps *= kRefinement) {
      const double factor = std::exp2(-1.0 / steps);
      double distance = nearest;
      while (distance >= furthest) {
        best = offer(with(distance)) ? distance : best;
        distance *= factor;
      }
      nearest = std::min(widest, best / factor);
      furthest = std::max(narrowest, best * factor);
    }
  }

 private:
  static constexpr int kRefinement = 4;
  static constexpr int kFinest = 512;  // steps per octave: 0.14 %, a third of an 8-bit step

  const RangeCost* cost_;
  Range best_;
  double least_;
};

}  // namespace

Range least_cost_range(const TensorStatistics& observed, const QuantSpec& spec,
                       int steps_per_octave, const RangeCost& cost) {
  const Range all = range_with_zero(observed);
  if (all == Range{}) {
    return all;
  }
  Search search(all, cost);
  const double narrowest = observed.bin_width();
  const double reach = std::max(-all.low, all.high);
  search.descend(reach, reach, narrowest, steps_per_octave, [&](double both) {
    return Range{std::max(all.low, -both), std::min(all.high, both)};
  });
  if (!spec.symmetric && all.low < 0 && all.high > 0) {
    search.descend(search.best().high, all.high, narrowest, steps_per_octave, [&](double high) {
      return Range{search.best().low, high};
    });
    search.descend(-search.best().low, -all.low, narrowest, steps_per_octave, [&](double low) {
      return Range{-low, search.best().high};
    });
  }
  return search.best();
}

}  // namespace tare
