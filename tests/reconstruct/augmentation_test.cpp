#include "reconstruct/augmentation.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Pixels 0, 1, 2 and so on, row by row.
Tensor counted(const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  const auto values = tensor.mutable_view<float>();
  std::iota(values.begin(), values.end(), 0.0F);
  return tensor;
}

std::vector<float> row(const Tensor& image, std::size_t first, std::size_t count) {
  const auto values = image.view<float>().subspan(first, count);
  return {values.begin(), values.end()};
}

TEST(Augmentation, MirrorsRowsOfEachChannel) {
  const Tensor result = moved(counted({1, 3, 8, 8}), {.mirrored = true});
  EXPECT_EQ(row(result, 0, 8), (std::vector<float>{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(row(result, 64, 8), (std::vector<float>{71, 70, 69, 68, 67, 66, 65, 64}));
}

TEST(Augmentation, RepeatsEdgesBehindWhatMoves) {
  const Tensor result = moved(counted({1, 3, 8, 8}), {.down = 1, .right = 2});
  EXPECT_EQ(row(result, 0, 8), (std::vector<float>{0, 0, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(row(result, 8, 8), (std::vector<float>{0, 0, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(row(result, 56, 8), (std::vector<float>{48, 48, 48, 49, 50, 51, 52, 53}));
}

TEST(Augmentation, MovesWholePixelsOfChannelsInTheLastAxis) {
  const Tensor result = moved(counted({1, 8, 8, 3}), {.mirrored = true, .down = -1});
  EXPECT_EQ(row(result, 0, 6), (std::vector<float>{45, 46, 47, 42, 43, 44}));
}

TEST(Augmentation, IsForColourImagesOfFloats) {
  EXPECT_TRUE(is_image(DType::kFloat32, {1, 3, 32, 32}));
  EXPECT_TRUE(is_image(DType::kFloat32, {1, 32, 32, 3}));
  EXPECT_FALSE(is_image(DType::kFloat32, {1, 1, 49, 10}));
  EXPECT_FALSE(is_image(DType::kUint8, {1, 3, 32, 32}));
  EXPECT_FALSE(is_image(DType::kFloat32, {1, 4, 6, 6}));
  EXPECT_FALSE(is_image(DType::kFloat32, {1, 3, 1, 100}));
  EXPECT_FALSE(is_image(DType::kFloat32, {3, 32, 32}));
}

/// A value that is no image, as a size would be, stays beside the image that it belongs to.
TEST(Augmentation, TakesPartsByTurns) {
  const std::array<std::size_t, 2> parts{0, 2};
  RunValues values;
  for (const float run : {0.0F, 1.0F, 2.0F}) {
    Tensor image(DType::kFloat32, {1, 3, 8, 8});
    std::ranges::fill(image.mutable_view<float>(), run);
    values[ValueId{0}].push_back(image);
    values[ValueId{1}].push_back(Tensor::scalar(run));
  }
  add_moved(values, parts, 3);
  for (const ValueId value : {ValueId{0}, ValueId{1}}) {
    const auto& runs = values.at(value);
    ASSERT_EQ(runs.size(), 6U);
    EXPECT_EQ(runs[3], runs[0]);
    EXPECT_EQ(runs[4], runs[2]);
    EXPECT_EQ(runs[5], runs[0]);
  }
}

TEST(Augmentation, MovesImagesOfOneRunAlikeAndThoseOfOthersOtherwise) {
  const std::array<std::size_t, 1> parts{0};
  RunValues values;
  values[ValueId{0}] = {counted({1, 3, 32, 32})};
  values[ValueId{1}] = {counted({1, 3, 32, 32})};
  add_moved(values, parts, 20);
  EXPECT_EQ(values.at(ValueId{0}), values.at(ValueId{1}));
  const auto& runs = values.at(ValueId{0});
  std::size_t different = 0;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    different += runs[run] != runs[run - 1] ? 1 : 0;
  }
  EXPECT_GE(different, 18U);
}

}  // namespace
}  // namespace tare::test
