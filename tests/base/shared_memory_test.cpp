#include "base/shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

class SharedMemory : public ::testing::Test {
 protected:
  ~SharedMemory() override { set_shared_memory_limit(0); }
};

/// What the system says of the mapping that the address lies in.
std::string mapping_of(const std::byte* address) {
  std::ifstream maps("/proc/self/maps");
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t dash = line.find('-');
    const std::size_t space = line.find(' ');
    if (at >= std::stoull(line.substr(0, dash), nullptr, 16) &&
        at < std::stoull(line.substr(dash + 1, space), nullptr, 16)) {
      return line;
    }
  }
  return {};
}

bool is_in_file(const std::shared_ptr<std::byte[]>& memory) {
  return mapping_of(memory.get()).find("/tare-") != std::string::npos;
}

TEST_F(SharedMemory, IsInFilesBeyondTheLimitAndInMemoryBelow) {
  set_shared_memory_limit(6 * kMiB);
  auto first = shared_memory(4 * kMiB);
  const auto second = shared_memory(4 * kMiB);
  const auto small = shared_memory(1000);
  EXPECT_FALSE(is_in_file(first));
  EXPECT_TRUE(is_in_file(second));
  EXPECT_FALSE(is_in_file(small));
  first.reset();
  EXPECT_FALSE(is_in_file(shared_memory(4 * kMiB)));
}

TEST_F(SharedMemory, KeepsWhatIsWrittenToFiles) {
  set_shared_memory_limit(1);
  std::vector<std::shared_ptr<std::byte[]>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(shared_memory(kMiB + 1));
    std::fill_n(all.back().get(), kMiB + 1, static_cast<std::byte>(i));
  }
  for (int i = 0; i < 4; ++i) {
    const std::byte* bytes = all[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0U);
    EXPECT_EQ(std::count(bytes, bytes + kMiB + 1, static_cast<std::byte>(i)), kMiB + 1);
  }
}

}  // namespace
}  // namespace tare::test
