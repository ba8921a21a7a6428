#pragma once

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/simulate.h"

#include <map>
#include <set>
#include <span>
#include <string>

namespace tare {

/// What of a graph is to run on integers.
struct Assignment {
  std::set<std::string> on_integers;  ///< nodes that patterns start from
  /// What the target then takes for all that may be either, conversions included; 0 where the
  /// objective is coverage.
  double nanoseconds = 0;
  std::set<std::string> quantized;  ///< values and weights, of those with a price
};

/// What simulate() would quantize if that cost the target more, without being slower: for each
/// value or weight that is quantized so many nanoseconds, by name. The least time with its
/// price: a minimum cut, as in Stone, Multiprocessor Scheduling with the Aid of Network Flow
/// Algorithms, 1977.
Assignment assign(const Graph&, const Config&, const Target&,
                  std::span<const QuantPattern> patterns,
                  const std::map<std::string, double>& prices);

}  // namespace tare
