#include "base/parallel.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(ParallelFor, RunsEveryIndexOnce) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> hits(100);
    parallel_for(hits.size(), threads, [&](std::size_t, std::size_t i) { ++hits[i]; });
    for (const auto& hit : hits) {
      EXPECT_EQ(hit, 1);
    }
  }
}

TEST(ParallelFor, CallsOfOneWorkerNeverOverlap) {
  std::vector<std::atomic<int>> busy(3);
  std::atomic<bool> overlapped{false};
  parallel_for(200, 3, [&](std::size_t worker, std::size_t) {
    if (busy.at(worker)++ != 0) {
      overlapped = true;
    }
    --busy[worker];
  });
  EXPECT_FALSE(overlapped);
}

TEST(ParallelFor, RethrowsTheErrorOfTheLowestFailingIndex) {
  for (const int threads : {1, 2, 7}) {
    try {
      parallel_for(100, threads, [](std::size_t, std::size_t i) {
        if (i % 10 == 3) {
          throw std::runtime_error(std::to_string(i));
        }
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
  }
}

}  // namespace
}  // namespace tare::test
