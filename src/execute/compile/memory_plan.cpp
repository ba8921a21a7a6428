// Places buffers in one arena by size, largest first, each into the smallest gap that is free
// for as long as it lives: the greedy-by-size algorithm for offsets of Pisarchyk and Lee
// ("Efficient Memory Management for Deep Neural Net Inference", 2020). The optimal placement is
// NP-hard; this one is within a few percent of it on real networks.
//
// Time: a sort, and for each buffer a look at those that live at the same time as it. Most live
// for a few steps and are found by the step in which they start; a network in which most
// buffers lived long would take the square of their number.
#include "execute/compile/memory_plan.h"

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

struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Requests that have their place. Most live for a few steps, so those that live at the same
/// time as another one are found by the step where they start; the others are looked through.
class Placed {
 public:
  explicit Placed(std::span<const Lifetime> requests) {
    std::size_t steps = 0;
    for (const Lifetime& request : requests) {
      steps = std::max(steps, request.last + 1);
    }
    brief_.resize(steps);
  }

  void add(const Lifetime& request, ByteRange range) {
    if (request.last - request.first < kBrief) {
      brief_[request.first].push_back({request, range});
    } else {
      const auto behind = [](const ByteRange& a, const Entry& b) {
        return a.begin < b.range.begin;
      };
      long_.insert(std::upper_bound(long_.begin(), long_.end(), range, behind),
                   {request, range});
    }
  }

  /// What those that are alive together with the request take, sorted.
  void taken_beside(const Lifetime& request, std::vector<ByteRange>& taken) const {
    taken.clear();
    const std::size_t first = request.first - std::min(request.first, kBrief - 1);
    for (std::size_t step = first; step <= request.last; ++step) {
      for (const Entry& entry : brief_[step]) {
        if (entry.request.last >= request.first) {
          taken.push_back(entry.range);
        }
      }
    }
    const auto before = [](const ByteRange& a, const ByteRange& b) {
      return a.begin < b.begin;
    };
    std::sort(taken.begin(), taken.end(), before);
    const auto middle = static_cast<std::ptrdiff_t>(taken.size());
    for (const Entry& entry : long_) {
      if (entry.request.first <= request.last && request.first <= entry.request.last) {
        taken.push_back(entry.range);
      }
    }
    std::inplace_merge(taken.begin(), taken.begin() + middle, taken.end(), before);
  }

 private:
  struct Entry {
    Lifetime request;
    ByteRange range;
  };
  static constexpr std::size_t kBrief = 32;  // steps back that each request looks through

  std::vector<std::vector<Entry>> brief_;  ///< by first step
  std::vector<Entry> long_;                ///< sorted by range
};

/// Start of the smallest gap between `taken` (sorted by begin) that holds `bytes`; after all of
/// them when none does.
std::size_t best_gap(const std::vector<ByteRange>& taken, std::size_t bytes) {
  std::size_t best = 0;
  std::size_t best_size = std::numeric_limits<std::size_t>::max();
  std::size_t end = 0;
  for (const ByteRange& range : taken) {
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
  Placed placed(requests);
  std::vector<ByteRange> taken;
  for (const std::size_t i : order) {
    const std::size_t bytes = aligned(requests[i].bytes);
    placed.taken_beside(requests[i], taken);
    plan.offsets[i] = best_gap(taken, bytes);
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + bytes);
    placed.add(requests[i], {plan.offsets[i], plan.offsets[i] + bytes});
  }
  return plan;
}

}  // namespace tare
