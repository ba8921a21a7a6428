#include "execute/compile/memory_plan.h"

#include "support/random/random.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Some live for longer than most.
std::vector<Lifetime> random_requests(Random& random) {
  std::vector<Lifetime> requests(static_cast<std::size_t>(random.integer(1, 60)));
  for (Lifetime& request : requests) {
    request.bytes = static_cast<std::size_t>(random.integer(0, 1000));
    request.first = static_cast<std::size_t>(random.integer(0, 30));
    const int longest = random.integer(0, 3) == 0 ? 100 : 10;
    request.last = request.first + static_cast<std::size_t>(random.integer(0, longest));
  }
  return requests;
}

TEST(MemoryPlan, PutsEachIntoTheTightestGapBetweenAllThatAreAliveWithIt) {
  constexpr auto kAligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  Random random(2);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Lifetime> requests = random_requests(random);
    const MemoryPlan plan = plan_memory(requests);
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return requests[a].bytes > requests[b].bytes;
    });
    std::vector<std::size_t> placed;
    for (const std::size_t i : order) {
      std::vector<std::pair<std::size_t, std::size_t>> taken;
      for (const std::size_t j : placed) {
        if (requests[i].first <= requests[j].last && requests[j].first <= requests[i].last) {
          taken.emplace_back(plan.offsets[j], plan.offsets[j] + kAligned(requests[j].bytes));
        }
      }
      std::sort(taken.begin(), taken.end());
      std::size_t end = 0;
      std::size_t best = 0;
      auto tightest = std::numeric_limits<std::size_t>::max();
      for (const auto& [from, to] : taken) {
        if (from >= end + kAligned(requests[i].bytes) && from - end < tightest) {
          best = end;
          tightest = from - end;
        }
        end = std::max(end, to);
      }
      const bool has_gap = tightest != std::numeric_limits<std::size_t>::max();
      ASSERT_EQ(plan.offsets[i], has_gap ? best : end) << i << " in round " << round;
      placed.push_back(i);
    }
  }
}

TEST(MemoryPlan, NeverOverlapsBothInTimeAndInMemory) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Lifetime> requests = random_requests(random);
    const MemoryPlan plan = plan_memory(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      ASSERT_EQ(plan.offsets[i] % 64, 0U);
      ASSERT_LE(plan.offsets[i] + requests[i].bytes, plan.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool same_time =
            requests[i].first <= requests[j].last && requests[j].first <= requests[i].last;
        const bool same_bytes = plan.offsets[i] < plan.offsets[j] + requests[j].bytes &&
                                plan.offsets[j] < plan.offsets[i] + requests[i].bytes;
        ASSERT_FALSE(same_time && same_bytes) << i << " and " << j << " in round " << round;
      }
    }
  }
}

TEST(MemoryPlan, NeedsTwoBuffersForAChain) {
  std::vector<Lifetime> chain;
  for (std::size_t i = 0; i < 20; ++i) {
    chain.push_back({640, i, i + 1});
  }
  EXPECT_EQ(plan_memory(chain).bytes, 2U * 640U);
}

}  // namespace
}  // namespace tare::test
