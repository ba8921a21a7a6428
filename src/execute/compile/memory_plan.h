#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tare {

/// A request for `bytes` of memory during the steps [first, last].
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< one per request, multiples of 64
  std::size_t bytes = 0;             ///< the whole arena
};

/// Places requests so that no two overlap both in time and in memory. Largest first, each into
/// the tightest gap that holds it: within a few percent of the optimum on real networks.
MemoryPlan plan_memory(std::span<const Lifetime>);

}  // namespace tare
