#pragma once

#include "tare/quant_table.h"

#include <vector>

namespace tare {

/// Parameters of sums of products: scales multiply, zero points are 0. Per-axis ones are those
/// of a row.
QuantParams accumulated_params(const QuantParams& input, const QuantParams& weight);

/// As worst_case_accumulators() of an integer graph, for each result of an accumulator point
/// whose factors are decided, with any of its biases.
std::vector<SumRange> worst_case_accumulators(const SimulatedGraph&,
                                              const QuantPoint& accumulator, const QuantTable&);

/// The largest magnitude that any of those sums could have, whatever the weights.
double largest_sum(const SimulatedGraph&, const QuantPoint& accumulator, const QuantTable&);

}  // namespace tare
