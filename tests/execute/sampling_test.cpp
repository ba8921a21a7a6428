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

TEST(NonZero, RefusesOperandsWithAnotherNumberOfThemThanTheResultIsFor) {
  const auto picked = [](const std::vector<float>& values) {
    return run_node(make_node("NonZero"), {{Tensor::of<float>({2, 2}, values)}},
                    {typed(DType::kInt64, {2, 3})})[0]
        .to_int64();
  };
  EXPECT_EQ(picked({1, 0, kNoNumber, -2}), (std::vector<std::int64_t>{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(
      message_of(
          [&] {
            return picked({1, 0, 0, 1});
          },
          ErrorCode::kInvalidData),
      "2 elements are not 0, which the shape of the result depends on, expected 3 as when "
      "the model was read");
}

TEST(Compress, TakesConditionsForFewerElementsThanThereAre) {
  Tensor condition(DType::kBool, {2});
  condition.mutable_data()[1] = std::byte{1};
  const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run_node(make_node("Compress", {{"axis", std::int64_t{-1}}}), {{x}, {condition}},
                     {typed(DType::kFloat32, {2, 1})})[0]
                .to_float(),
            (std::vector<float>{2, 5}));
  EXPECT_EQ(
      run_node(make_node("Compress"), {{x}, {condition}}, {typed(DType::kFloat32, {1})})[0]
          .to_float(),
      (std::vector<float>{2}));
}

/// Sums of the definition, with which transforms of any length agree.
TEST(Fourier, TransformsOfEveryLengthAreTheirDefinition) {
  constexpr double kPi = 3.14159265358979323846;
  for (const std::int64_t length : {1, 2, 3, 5, 7, 8, 12, 30, 31}) {
    std::vector<float> signal;
    for (std::int64_t i = 0; i < length; ++i) {
      signal.push_back(static_cast<float>((i * 7) % 5) - 2);
    }
    const Tensor y = run_node(make_node("DFT"), {{Tensor::of<float>({1, length, 1}, signal)}},
                              {typed(DType::kFloat32, {1, length, 2})})[0];
    for (std::int64_t k = 0; k < length; ++k) {
      double real = 0;
      double imaginary = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const double angle =
            -2 * kPi * static_cast<double>(i * k) / static_cast<double>(length);
        real += static_cast<double>(signal[static_cast<std::size_t>(i)]) * std::cos(angle);
        imaginary += static_cast<double>(signal[static_cast<std::size_t>(i)]) * std::sin(angle);
      }
      // Results are rounded to float once, and sums are below 64.
      EXPECT_NEAR(y.view<float>()[2 * k], real, 64 * 1e-7);
      EXPECT_NEAR(y.view<float>()[2 * k + 1], imaginary, 64 * 1e-7);
    }
  }
}

}  // namespace
}  // namespace tare::test
