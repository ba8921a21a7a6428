// What the backend tests of ONNX do not ask of operators that read where computed operands say.
#include "tare/error.h"

#include "support/graphs.h"
#include "support/message.h"
#include "support/node_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kEndless = std::numeric_limits<float>::infinity();
constexpr float kLargestFloat = std::numeric_limits<float>::max();

const Tensor& image() {
  static const Tensor pixels = Tensor::of<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  return pixels;
}

std::vector<float> sampled(const std::vector<float>& points, const char* mode,
                           const char* padding) {
  const auto count = static_cast<std::int64_t>(points.size() / 2);
  const Tensor grid = Tensor::of<float>({1, 1, count, 2}, points);
  return run_node(make_node("GridSample", {{"mode", std::string(mode)},
                                           {"padding_mode", std::string(padding)}}),
                  {{image()}, {grid}}, {typed(DType::kFloat32, {1, 1, 1, count})})[0]
      .to_float();
}

TEST(GridSample, ReadsZerosAtPointsThatAreNoNumbers) {
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      EXPECT_EQ(sampled({kNoNumber, 0, 0, kNoNumber, kNoNumber, kNoNumber}, mode, padding),
                (std::vector<float>{0, 0, 0}));
    }
  }
}

TEST(GridSample, StaysInsideTheImageHoweverFarAwayAPointIs) {
  const std::vector<float> far{kLargestFloat, 0,        -kLargestFloat, 0, 0,
                               kLargestFloat, kEndless, -kEndless};
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    EXPECT_EQ(sampled(far, mode, "zeros"), (std::vector<float>{0, 0, 0, 0}));
    for (const float value : sampled(far, mode, "reflection")) {
      EXPECT_TRUE(value >= 0 && value <= 7) << value;  // bicubic may overshoot by a part
    }
  }
  EXPECT_EQ(sampled({kLargestFloat, -1, -kLargestFloat, 1}, "nearest", "border"),
            (std::vector<float>{3, 4}));
}

TEST(ReverseSequence, RefusesLengthsBeyondTheSteps) {
  const Tensor x = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto reversed = [&](std::int64_t length) {
    return run_node(make_node("ReverseSequence"),
                    {{x}, {Tensor::of<std::int64_t>({2}, {1, length})}},
                    {typed(DType::kFloat32, {3, 2})})[0]
        .to_float();
  };
  EXPECT_EQ(reversed(3), (std::vector<float>{1, 6, 3, 4, 5, 2}));
  EXPECT_EQ(reversed(0), x.to_float());
  for (const std::int64_t length : {-1, 4}) {
    EXPECT_EQ(message_of([&] { return reversed(length); }, ErrorCode::kInvalidData),
              "the length of sequence 1 is " + std::to_string(length) + ", expected 0 to 3");
  }
}

TEST(RoiAlign, RefusesRegionsWithoutBounds) {
  const auto pooled = [](float right) {
    return run_node(make_node("RoiAlign"),
                    {{image()},
                     {Tensor::of<float>({1, 4}, {0, 0, right, 1})},
                     {Tensor::of<std::int64_t>({1}, {0})}},
                    {typed(DType::kFloat32, {1, 1, 1, 1})})[0]
        .to_float();
  };
  EXPECT_EQ(pooled(2).size(), 1U);
  for (const float right : {kNoNumber, kEndless, kLargestFloat}) {
    EXPECT_NE(
        message_of([&] { return pooled(right); }, ErrorCode::kInvalidData).find("a region is"),
        std::string::npos);
  }
}

}  // namespace
}  // namespace tare::test
