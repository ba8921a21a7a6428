#include "tare/dataset.h"

#include "support/files/samples_in_memory.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Sample i is the number i.
SamplesInMemory numbered(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.F);
  return SamplesInMemory(
      {{"x", Tensor::of<float>({static_cast<std::int64_t>(count), 1}, values)}});
}

std::vector<float> all_of(const Dataset& data) {
  const Tensor samples = data.read("x", 0, data.size());
  const auto values = samples.view<float>();
  return {values.begin(), values.end()};
}

TEST(EvenlySpacedSamples, AreTheMiddleOnesOfEqualShares) {
  const SamplesInMemory data = numbered(12);
  EXPECT_EQ(all_of(*evenly_spaced(data, 3)), (std::vector<float>{2, 6, 10}));
  EXPECT_EQ(all_of(*without_evenly_spaced(data, 3)),
            (std::vector<float>{0, 1, 3, 4, 5, 7, 8, 9, 11}));
}

TEST(EvenlySpacedSamples, AndTheOthersAreAllSamplesOnce) {
  for (const std::size_t size : {1, 2, 7, 50, 64}) {
    const SamplesInMemory data = numbered(size);
    for (std::size_t count = 1; count <= size; ++count) {
      std::vector<float> both = all_of(*evenly_spaced(data, count));
      ASSERT_EQ(both.size(), count);
      EXPECT_TRUE(std::is_sorted(both.begin(), both.end()));
      if (count < size) {
        const std::vector<float> others = all_of(*without_evenly_spaced(data, count));
        EXPECT_TRUE(std::is_sorted(others.begin(), others.end()));
        both.insert(both.end(), others.begin(), others.end());
      }
      std::sort(both.begin(), both.end());
      EXPECT_EQ(both, all_of(data)) << count << " of " << size;
    }
  }
}

TEST(EvenlySpacedSamples, CanBeReadInParts) {
  const SamplesInMemory data = numbered(10);
  const auto some = without_evenly_spaced(data, 2);  // 0 1 3 4 5 6 8 9
  const Tensor middle = some->read("x", 1, 4);
  const auto values = middle.view<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{1, 3, 4, 5}));
}

}  // namespace
}  // namespace tare::test
