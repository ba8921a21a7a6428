#pragma once

#include "tare/simulate.h"

#include "simulate/settings.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Where the target's patterns match and are accepted, in topological order, and what stays
/// float although one matches. Regions have no points yet.
struct MatchedRegions {
  std::vector<Region> regions;
  std::vector<KeptFloat> kept_float;
  double nanoseconds = 0;           ///< as in Placements; 0 where the objective is coverage
  std::set<std::string> quantized;  ///< likewise
};

/// `prices` as for place().
MatchedRegions match_regions(const Graph&, const Settings&, std::span<const QuantPattern>,
                             const std::map<std::string, double>& prices = {});

/// Where the patterns of the target match, whether integers would pay there or not.
std::vector<Region> all_regions(const Graph&, const Settings&, std::span<const QuantPattern>);

}  // namespace tare
