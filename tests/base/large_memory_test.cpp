#include "base/large_memory.h"

#include "base/shared_memory.h"
#include "support/sanitized.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace tare::test {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

/// Bytes of all mappings of this process.
std::size_t mapped_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t sum = 0;
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t dash = line.find('-');
    sum += std::stoull(line.substr(dash + 1), nullptr, 16) -
           std::stoull(line.substr(0, dash), nullptr, 16);
  }
  return sum;
}

TEST(LargeMemory, StartsWhereAHugePageMay) {
  for (const std::size_t bytes : {2 * kMebibyte, 2 * kMebibyte + 1, 5 * kMebibyte + 4097}) {
    const LargeMemory memory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (2 * kMebibyte), 0U) << bytes;
  }
}

/// As much as the process keeps for the next arrays at most.
constexpr std::size_t kKept = 256 * kMebibyte;

TEST(LargeMemory, MapsNoMoreThanItsPagesAndGivesThemBack) {
  const std::size_t before = mapped_bytes();
  constexpr std::size_t kBytes = kKept + 1;
  constexpr std::size_t kLargestPage = 64 << 10U;
  {
    const LargeMemory memory(kBytes);
    const std::size_t added = mapped_bytes() - before;
    EXPECT_GE(added, kBytes);
    EXPECT_LE(added, kBytes + kLargestPage);
  }
  EXPECT_LT(mapped_bytes(), before + kLargestPage);
}

TEST(LargeMemory, TakesWhatAnArrayOfItsSizeReleasedBefore) {
  constexpr std::size_t kBytes = 8 * kMebibyte;
  const LargeMemory others(2 * kBytes);  // half of what all took may be kept
  std::byte* before = nullptr;
  {
    const LargeMemory memory(kBytes);
    before = memory.data();
    std::fill_n(before, kBytes, std::byte{1});
  }
  const LargeMemory half(kBytes / 2);
  EXPECT_NE(half.data(), before) << "wastes half of it";
  const LargeMemory memory(kBytes - 1);
  EXPECT_EQ(memory.data(), before);
  EXPECT_EQ(memory.size(), kBytes - 1);
  EXPECT_FALSE(memory.was_zero());
}

TEST(LargeMemory, KeepsNoMoreThanItMay) {
  const std::size_t before = mapped_bytes();
  {
    std::vector<LargeMemory> all;
    for (int i = 0; i < 40; ++i) {
      all.emplace_back(16 * kMebibyte);
    }
  }
  EXPECT_LE(mapped_bytes(), before + kKept);
}

TEST(LargeMemory, TakesTheRoomOfWhatWasKeptWhereThereIsNoOther) {
  if (kIsSanitized) {
    GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  }
  const auto child = [] {
    const LargeMemory others(64 * kMebibyte);
    { const LargeMemory kept(32 * kMebibyte); }
    const rlim_t most = mapped_bytes() + 30 * kMebibyte;
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
    const LargeMemory memory(48 * kMebibyte);
    std::exit(memory.size() == 48 * kMebibyte ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(LargeMemory, OfAnySizeIsAlignedAndSaysWhetherItWasZero) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kMebibyte, 3 * kMebibyte}) {
    const LargeMemory memory(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0U) << bytes;
    if (memory.was_zero()) {
      EXPECT_TRUE(std::all_of(memory.data(), memory.data() + bytes,
                              [](std::byte b) { return b == std::byte{0}; }));
    }
  }
}

/// Small arrays are where others were before.
TEST(ZeroedSharedMemory, IsZeroWhereOthersWroteBefore) {
  for (const std::size_t bytes : {std::size_t{1000}, kMebibyte + 1, 4 * kMebibyte + 1}) {
    for (int i = 0; i < 8; ++i) {
      const auto memory = zeroed_shared_memory(bytes);
      EXPECT_TRUE(std::all_of(memory.get(), memory.get() + bytes, [](std::byte b) {
        return b == std::byte{0};
      })) << bytes;
      std::fill_n(memory.get(), bytes, std::byte{0xFF});
    }
  }
}

}  // namespace
}  // namespace tare::test
