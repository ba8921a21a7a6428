#pragma once

#include "tare/quant_table.h"

#include <string>
#include <vector>

namespace tare {

/// What the operators that the target unifies read and compute, merged where they meet: as
/// SimulatedGraph::unified.
std::vector<std::vector<std::string>> unified_points(const SimulatedGraph&);

}  // namespace tare
