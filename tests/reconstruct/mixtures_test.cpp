#include "reconstruct/mixtures.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kRuns = 6;

/// Two values, of which a run has 1 and 10 at its own place and 0 elsewhere.
RunValues marked() {
  RunValues values;
  for (const std::uint32_t k : {0U, 1U}) {
    for (std::size_t run = 0; run < kRuns; ++run) {
      Tensor tensor(DType::kFloat32, {1, kRuns});
      tensor.mutable_view<float>()[run] = k == 0 ? 1.0F : 10.0F;
      values[ValueId{k}].push_back(tensor);
    }
  }
  return values;
}

TEST(Mixtures, LieBetweenTwoOfTheirPartsInAllValues) {
  RunValues values = marked();
  const std::array<std::size_t, 3> parts{1, 2, 4};
  add_mixtures(values, parts, 100);
  const auto& first = values.at(ValueId{0});
  const auto& second = values.at(ValueId{1});
  ASSERT_EQ(first.size(), kRuns + 100);
  ASSERT_EQ(second.size(), first.size());
  std::array<int, kRuns> used{};
  for (std::size_t run = kRuns; run < first.size(); ++run) {
    float sum = 0;
    int count = 0;
    for (std::size_t i = 0; i < kRuns; ++i) {
      const float share = first[run].view<float>()[i];
      EXPECT_GE(share, 0);
      EXPECT_FLOAT_EQ(second[run].view<float>()[i], 10 * share);
      sum += share;
      count += share != 0 ? 1 : 0;
      used.at(i) += share != 0 ? 1 : 0;
    }
    EXPECT_FLOAT_EQ(sum, 1);
    EXPECT_LE(count, 2);
  }
  for (std::size_t i = 0; i < kRuns; ++i) {
    const bool is_part = std::find(parts.begin(), parts.end(), i) != parts.end();
    EXPECT_EQ(used.at(i) > 0, is_part) << i;
  }
}

TEST(Mixtures, AreTheSameEachTime) {
  RunValues one = marked();
  RunValues other = marked();
  const std::array<std::size_t, 2> parts{0, 3};
  add_mixtures(one, parts, 10);
  add_mixtures(other, parts, 10);
  EXPECT_EQ(one, other);
}

TEST(Mixtures, NeedRealValuesOfOneShape) {
  RunValues values = marked();
  EXPECT_TRUE(can_mix(values));
  values[ValueId{0}].back() = Tensor(DType::kFloat32, {1, kRuns + 1});
  EXPECT_FALSE(can_mix(values));
  values[ValueId{0}] = {Tensor(DType::kInt64, {1, 3}), Tensor(DType::kInt64, {1, 3})};
  EXPECT_FALSE(can_mix(values));
}

}  // namespace
}  // namespace tare::test
