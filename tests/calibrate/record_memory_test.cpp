#include "calibrate/sequential/record_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

TEST(RecordMemory, GivesEachRecordBytesOfItsOwn) {
  RecordMemory memory(100 * kMebibyte);
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kRecords = 8;
  const auto size_of = [](std::size_t i) { return i % 3 == 0 ? 40 * kMebibyte : 1000 + i; };
  std::vector<RecordMemory::Record> records(kThreads * kRecords);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < records.size(); i += kThreads) {
        records[i] = memory.take(size_of(i));
        std::fill_n(records[i].data, 1000, static_cast<std::byte>(i));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(records[i].data) % 64, 0U);
    EXPECT_TRUE(std::all_of(records[i].data, records[i].data + 1000, [i](std::byte b) {
      return b == static_cast<std::byte>(i);
    })) << i;
  }
}

/// Records of one are made while those of the other are released, as between two levels.
TEST(RecordMemory, NeedsFewBlocksMoreThanOneOfTwo) {
  constexpr std::size_t kRecord = 5 * kMebibyte;
  constexpr std::size_t kRecords = 60;
  std::set<std::byte*> places;
  RecordMemory before(kRecord * kRecords);
  std::vector<RecordMemory::Record> old;
  for (std::size_t i = 0; i < kRecords; ++i) {
    old.push_back(before.take(kRecord));
    places.insert(old.back().data);
  }
  RecordMemory after(kRecord * kRecords);
  for (std::size_t i = 0; i < kRecords; ++i) {
    before.release(old[i]);
    places.insert(after.take(kRecord).data);
  }
  // Six records in a block: one block that is still read when the first is written, and one
  // that is filled meanwhile.
  EXPECT_LE(places.size(), kRecords + 12);
}

}  // namespace
}  // namespace tare::test
