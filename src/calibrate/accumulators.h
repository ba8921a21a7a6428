#pragma once

#include "tare/quant_table.h"
#include "tare/simulate.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Mean of each channel of the input of an accumulating node, by the name of its point.
using InputMeans = std::map<std::string, std::vector<double>>;

/// Decides accumulator points whose factors are decided: scales are the products of those of
/// input and weight, and biases are corrected where the point asks for it and its input's means
/// are known. Weights make room first; see make_room().
void derive_accumulators(const SimulatedGraph&, std::span<const QuantPoint* const> accumulators,
                         const InputMeans&, QuantTable&);
/// All of them, of a table whose activations were changed.
void derive_all_accumulators(const SimulatedGraph&, const InputMeans&, QuantTable&);

}  // namespace tare
