#include "base/parallel.h"

#include <atomic>
#include <stdexcept>
#include <thread>
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

TEST(ParallelFor, RunsInsideAndBesideItself) {
  constexpr std::size_t kOuter = 20;
  constexpr std::size_t kInner = 50;
  std::vector<std::atomic<int>> hits(3 * kOuter * kInner);
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&hits, caller] {
      parallel_for(kOuter, 2, [&hits, caller](std::size_t, std::size_t outer) {
        std::vector<std::atomic<int>> busy(3);
        parallel_for(kInner, 3, [&](std::size_t worker, std::size_t inner) {
          EXPECT_EQ(busy.at(worker)++, 0);
          ++hits[(caller * kOuter + outer) * kInner + inner];
          --busy[worker];
        });
      });
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  for (const auto& hit : hits) {
    EXPECT_EQ(hit, 1);
  }
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
