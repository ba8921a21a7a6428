#include "execute/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tare {
namespace {

/// oneDNN and vector loads like cache-line alignment.
constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool alive_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Start of the smallest gap between `taken` (sorted by begin) that holds `bytes`; after all of
/// them when none does.
std::size_t best_gap(const std::vector<Range>& taken, std::size_t bytes) {
  std::size_t best = 0;
  std::size_t best_size = std::numeric_limits<std::size_t>::max();
  std::size_t end = 0;
  for (const Range& range : taken) {
    if (range.begin >= end + bytes && range.begin - end < best_size) {
      best = end;
      best_size = range.begin - end;
    }
    end = std::max(end, range.end);
  }
  return best_size == std::numeric_limits<std::size_t>::max() ? end : best;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> requests) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return requests[a].bytes > requests[b].bytes;
  });

  MemoryPlan plan;
  plan.offsets.resize(requests.size());
  std::vector<std::size_t> placed;  // sorted by offset
  std::vector<Range> taken;
  for (const std::size_t i : order) {
    const std::size_t bytes = aligned(requests[i].bytes);
    taken.clear();
    for (const std::size_t j : placed) {
      if (alive_together(requests[i], requests[j])) {
        taken.push_back({plan.offsets[j], plan.offsets[j] + aligned(requests[j].bytes)});
      }
    }
    plan.offsets[i] = best_gap(taken, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](std::size_t a, std::size_t b) {
                                     return plan.offsets[a] < plan.offsets[b];
                                   }),
                  i);
  }
  return plan;
}

}  // namespace tare
