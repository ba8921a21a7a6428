#pragma once

#include <atomic>

#include <gtest/gtest.h>
#include <pthread.h>

namespace tare::test {

/// How many children this process has made since the first call.
inline int child_count() {
  static std::atomic<int> count = 0;
  static const int fault = pthread_atfork([] { ++count; }, nullptr, nullptr);
  EXPECT_EQ(fault, 0);
  return count;
}

}  // namespace tare::test
