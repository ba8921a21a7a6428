#include "tare/execute.h"
#include "tare/statistics.h"

#include "support/graphs.h"
#include "support/tensors.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

ChannelStatistics channels_of(const Tensor& tensor, bool channels_last = false) {
  const TensorType type = f32(tensor.shape());
  ChannelStatistics sums;
  sums.observe({&type, tensor.data(), channels_last});
  return sums;
}

TEST(ChannelStatistics, AreTheMeansOfEachIndexOfAxis1) {
  const std::vector<Shape> shapes{{2, 5, 7, 3}, {3, 4, 50}, {6, 9}, {1, 1, 100, 3}};
  for (const Shape& shape : shapes) {
    const Tensor tensor = normal_tensor(shape, 1, 0.5F, 3);
    const auto channels = static_cast<std::size_t>(shape[1]);
    const std::size_t inner =
        tensor.view<float>().size() / channels / static_cast<std::size_t>(shape[0]);
    std::vector<double> expected(channels);
    for (std::size_t i = 0; i < tensor.view<float>().size(); ++i) {
      expected[i / inner % channels] += static_cast<double>(tensor.view<float>()[i]);
    }
    const std::vector<double> means = channels_of(tensor).means();
    ASSERT_EQ(means.size(), channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const double count = static_cast<double>(inner) * static_cast<double>(shape[0]);
      // At most 32 floats below 16 are added in float before double takes over.
      EXPECT_NEAR(means[c], expected[c] / count, 32 * 16 * 0x1p-23) << to_string(shape);
    }
  }
}

TEST(ChannelStatistics, ReadChannelsThatVaryFastest) {
  // Rows of three channels; multiples of 1/4 add up exactly.
  Tensor rows(DType::kFloat32, {1, 3, 10, 10});
  for (std::size_t i = 0; i < 300; ++i) {
    rows.mutable_view<float>()[i] =
        0.25F * static_cast<float>(i / 3) + 1000.0F * static_cast<float>(i % 3);
  }
  EXPECT_EQ(channels_of(rows, true).means(), (std::vector<double>{12.375, 1012.375, 2012.375}));
}

TEST(ChannelStatistics, OfAnySplitInAnyOrderAreTheSame) {
  std::vector<Tensor> tensors;
  for (unsigned seed = 0; seed < 40; ++seed) {
    tensors.push_back(normal_tensor({1, 6, 5, 5}, seed, 0.5F, 3));
  }
  ChannelStatistics whole;
  for (const Tensor& tensor : tensors) {
    whole.merge(channels_of(tensor));
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(tensors.begin(), tensors.end(), random);
    std::vector<ChannelStatistics> parts(1 + random() % 5);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      parts[random() % parts.size()].merge(channels_of(tensors[i]));
    }
    ChannelStatistics merged;
    for (const ChannelStatistics& part : parts) {
      merged.merge(part);
    }
    EXPECT_EQ(merged.means(), whole.means());
  }
}

TEST(ChannelStatistics, OfNothingHaveNoMeans) {
  EXPECT_TRUE(ChannelStatistics().means().empty());
}

}  // namespace
}  // namespace tare::test
