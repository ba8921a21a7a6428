#include "execute/memory_plan.h"

#include "execute/support.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::testing {
namespace {

TEST(MemoryPlan, NeverOverlapsBothInTimeAndInMemory) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<Lifetime> requests(static_cast<std::size_t>(random.integer(1, 60)));
    for (Lifetime& request : requests) {
      request.bytes = static_cast<std::size_t>(random.integer(0, 1000));
      request.first = static_cast<std::size_t>(random.integer(0, 30));
      request.last = request.first + static_cast<std::size_t>(random.integer(0, 10));
    }
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
}  // namespace tare::testing
