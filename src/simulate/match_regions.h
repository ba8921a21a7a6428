#pragma once

#include "tare/simulate.h"

#include "simulate/settings.h"

#include <span>
#include <vector>

namespace tare {

/// Where the target's patterns match and are accepted, in topological order, and what stays
/// float although one matches. Regions have no points yet.
struct MatchedRegions {
  std::vector<Region> regions;
  std::vector<KeptFloat> kept_float;
};

/// With those regions left out that would not pay.
MatchedRegions match_regions(const Graph&, const Settings&, std::span<const QuantPattern>);
/// All that may run on integers, for an objective that weighs what pays: without weights in
/// blocks, which are asked for whatever they cost.
std::vector<Region> match_candidates(const Graph&, const Settings&,
                                     std::span<const QuantPattern>);

}  // namespace tare
