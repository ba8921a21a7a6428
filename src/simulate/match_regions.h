#pragma once

#include "tare/simulate.h"

#include "simulate/settings.h"

#include <span>
#include <utility>
#include <vector>

namespace tare {

/// Where the target's patterns match and are accepted, in topological order, and what stays
/// float although one matches. Regions have no points yet.
std::pair<std::vector<Region>, std::vector<KeptFloat>> match_regions(
    const Graph&, const Settings&, std::span<const QuantPattern>);

}  // namespace tare
