#pragma once

#include "tare/quant_table.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Mean of each channel of a value.
struct ChannelMeans {
  std::vector<double> all;
  std::vector<double> holdout{};  ///< of the runs held out; empty: none are
  double share = 0;               ///< of these runs, above 0 and below 1 where there are some
};

/// Of the inputs of accumulating nodes, by the name of their points.
using InputMeans = std::map<std::string, ChannelMeans>;

/// Decides accumulator points whose factors are decided: scales are the products of those of
/// input and weight, and biases are corrected where the point asks for it and its input's means
/// are known. Biases stay as they are where a correction from the other runs would not bring
/// the mean results of the holdout runs closer. Scales of weights are widened first; see
/// widen_scales_to_fit(). `threads` do not change the result.
void derive_accumulators(const SimulatedGraph&, std::span<const QuantPoint* const> accumulators,
                         const InputMeans&, QuantTable&, int threads = 1);
/// All of them, of a table whose activations were changed.
void derive_all_accumulators(const SimulatedGraph&, const InputMeans&, QuantTable&,
                             int threads = 1);

}  // namespace tare
