// Gives points that a target wants to share parameters (operands and results of a Concat, say)
// the parameters of the union of their ranges. It works on the ranges that their parameters
// express and not on the observed ones: each calibrator has had its say, and what it cut off
// stays cut off. Accumulators depend on the scales and are derived again.
#include "calibrate/selection/unify.h"

#include "tare/simulate.h"

#include <algorithm>

namespace tare {
namespace {

/// Real values between the ends of the storage range.
Range expressed_range(const QuantParams& params) {
  const StorageRange range = params.range();
  const auto scale = static_cast<double>(params.scale[0]);
  const std::int64_t zero = params.zero_point[0];
  return {scale * static_cast<double>(range.low - zero),
          scale * static_cast<double>(range.high - zero)};
}

}  // namespace

void unify_activations(const SimulatedGraph& simulated, const InputMeans& means,
                       QuantTable& table) {
  bool changed = false;
  for (const std::vector<std::string>& group : simulated.unified) {
    const QuantParams first = table.at(group.front()).params;
    if (std::all_of(group.begin(), group.end(),
                    [&](const std::string& name) { return table.at(name).params == first; })) {
      continue;
    }
    Range all;
    for (const std::string& name : group) {
      const Range own = expressed_range(table.at(name).params);
      all = {std::min(all.low, own.low), std::max(all.high, own.high)};
    }
    const QuantParams params = to_quant_params({all}, simulated.find(group.front())->spec);
    for (const std::string& name : group) {
      table.at(name).params = params;
    }
    changed = true;
  }
  if (changed) {
    derive_all_accumulators(simulated, means, table);
  }
}

}  // namespace tare
