#include "execute/elements/byte_table.h"

#include "support/random/random.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t count, Random& random) {
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) {
    byte = static_cast<std::uint8_t>(random.integer(0, 255));
  }
  return bytes;
}

/// Counts around those of a vector, from addresses that are aligned to nothing.
TEST(ByteTable, GivesTheEntryOfEachByteAndTouchesNoOther) {
  Random random(3);
  for (std::size_t count = 0; count <= 200; ++count) {
    const auto table = random_bytes(256, random);
    const auto from = random_bytes(count + 2, random);
    const auto before = random_bytes(count + 2, random);
    auto expected = before;
    for (std::size_t i = 1; i <= count; ++i) {
      expected[i] = table[from[i]];
    }
    auto to = before;
    look_up(table.data(), from.data() + 1, to.data() + 1, count);
    EXPECT_EQ(to, expected);
    auto in_place = from;
    look_up(table.data(), in_place.data() + 1, in_place.data() + 1, count);
    expected.front() = from.front();
    expected.back() = from.back();
    EXPECT_EQ(in_place, expected);
  }
}

}  // namespace
}  // namespace tare::test
