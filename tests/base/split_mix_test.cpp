#include "base/split_mix.h"

#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(SplitMix64, GivesTheBitsOfItsNumbersLowestFirst) {
  for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 200U}) {
    SplitMix64 numbers(7);
    std::vector<std::uint32_t> expected;
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      rest = i % 64 == 0 ? numbers.next() : rest / 2;
      expected.push_back(static_cast<std::uint32_t>(rest % 2));
    }
    SplitMix64 noise(7);
    std::vector<std::uint32_t> bits(count);
    noise.for_each_bit(count, [&](std::size_t i, std::uint32_t bit) { bits[i] = bit; });
    EXPECT_EQ(bits, expected);
    EXPECT_EQ(noise.next(), numbers.next()) << count;
  }
}

// The first numbers of seed 1234567 of the implementation that its authors published.
TEST(SplitMix64, GivesThePublishedNumbers) {
  SplitMix64 numbers(1234567);
  EXPECT_EQ(numbers.next(), 6457827717110365317U);
  EXPECT_EQ(numbers.next(), 3203168211198807973U);
  EXPECT_EQ(numbers.next(), 9817491932198370423U);
}

}  // namespace
}  // namespace tare::test
