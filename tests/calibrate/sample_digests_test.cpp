#include "calibrate/statistics/sample_digests.h"

#include "support/files/samples_in_memory.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Tensor rows(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size()), 1}, values);
}

std::uint64_t sum_of(const std::vector<float>& x, const std::vector<float>& y) {
  const SamplesInMemory data({{"x", rows(x)}, {"y", rows(y)}});
  const SampleDigests digests(data);
  (void)digests.read("x", 0, x.size());
  (void)digests.read("y", 0, y.size());
  return digests.sum();
}

TEST(SampleDigests, TellWhichInputsBelongTogetherButNotTheOrderOfSamples) {
  const std::uint64_t sum = sum_of({1, 2}, {3, 4});
  EXPECT_EQ(sum_of({2, 1}, {4, 3}), sum);
  EXPECT_NE(sum_of({2, 1}, {3, 4}), sum);
  EXPECT_NE(sum_of({3, 4}, {1, 2}), sum);
}

TEST(SampleDigests, AreThoseOfTheSamplesThatWereRead) {
  const SamplesInMemory data({{"x", rows({1, 2, 3, 1})}});
  const SampleDigests digests(data);
  EXPECT_TRUE(digests.observed().empty());
  (void)digests.read("x", 2, 2);
  (void)digests.read("x", 3, 1);
  ASSERT_EQ(digests.observed().size(), 2U);
  EXPECT_EQ(digests.observed()[0].index, 2U);
  EXPECT_EQ(digests.observed()[1].index, 3U);
  (void)digests.read("x", 0, 1);
  EXPECT_EQ(digests.observed()[0].digest, digests.observed()[2].digest);
  EXPECT_NE(digests.observed()[0].digest, digests.observed()[1].digest);
}

}  // namespace
}  // namespace tare::test
