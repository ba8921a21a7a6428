#pragma once

#include "tare/graph.h"
#include "tare/quant_table.h"

#include <vector>

namespace tare {

/// Constants that leave a network no sensible results: NaN among them, infinities in weights
/// and other parameters of layers, variances that are not above 0 with their epsilon; one of
/// each, in the order of the graph. Infinities elsewhere, as in masks, are none.
std::vector<Warning> invalid_constants(const Graph&);

}  // namespace tare
