#pragma once

#include "tare/report.h"

#include "compare/compare.h"
#include "compare/layers.h"

namespace tare {

/// The layers of a report but for what running them shows; where it is brief without weights
/// and accumulators.
std::vector<LayerReport> layer_facts(const Graph& prepared, const Graph& integer,
                                     const Comparison&, const CompareFacts&,
                                     bool brief = false);

/// The operators that run on floats, under the names that the float graph has for them.
std::vector<FloatOperator> float_operators(const Graph& prepared, const CompareFacts&);

}  // namespace tare
