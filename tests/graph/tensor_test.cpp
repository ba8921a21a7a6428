#include "tare/tensor.h"

#include "tare/error.h"

#include "graph/arithmetic/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Tensor, CopiesShareBytesUntilOneIsWrittenTo) {
  Tensor a = Tensor::of<float>({2}, std::vector<float>{1, 2});
  Tensor b = a;
  EXPECT_EQ(a.data(), b.data());
  b.mutable_view<float>()[0] = 5;
  EXPECT_NE(a.data(), b.data());
  EXPECT_EQ(a.to_float(), (std::vector<float>{1, 2}));
  EXPECT_EQ(b.to_float(), (std::vector<float>{5, 2}));
}

TEST(Tensor, WritesInPlaceWhenNobodyShares) {
  Tensor a(DType::kInt8, {3});
  const std::byte* before = a.data();
  EXPECT_EQ(a.mutable_data(), before);
}

TEST(Tensor, StartsAsZeros) {
  EXPECT_EQ(Tensor(DType::kInt32, {2, 2}).to_int64(), (std::vector<std::int64_t>(4, 0)));
}

TEST(Tensor, ReshapedSharesBytesAndKeepsTheCount) {
  const Tensor a = Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor b = a.reshaped({3, 2});
  EXPECT_EQ(b.shape(), (Shape{3, 2}));
  EXPECT_EQ(a.data(), b.data());
  EXPECT_THROW((void)a.reshaped({7}), Error);
}

TEST(Tensor, RowsShareBytesUntilOneIsWrittenTo) {
  const Tensor a = Tensor::of<float>({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  Tensor b = a.rows(1, 2);
  EXPECT_EQ(b.shape(), (Shape{2, 2}));
  EXPECT_EQ(b.data(), a.data() + 2 * sizeof(float));
  b.mutable_view<float>()[0] = 9;
  EXPECT_EQ(b.to_float(), (std::vector<float>{9, 4, 5, 6}));
  EXPECT_EQ(a.to_float(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(a.rows(3, 0).size(), 0);
  EXPECT_THROW((void)a.rows(2, 2), Error);
}

TEST(Tensor, ComparesBytes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Tensor::scalar(nan), Tensor::scalar(nan));
  EXPECT_FALSE(Tensor::scalar(0.0F) == Tensor::scalar(-0.0F));
  EXPECT_FALSE(Tensor::scalar(1) == Tensor::scalar(1).reshaped({1}));
  EXPECT_FALSE(Tensor::scalar<std::int8_t>(1) == Tensor::scalar<std::uint8_t>(1));
}

TEST(Tensor, RefusesToBeReadAsAnotherType) {
  EXPECT_THROW((void)Tensor(DType::kFloat32, {1}).view<std::int32_t>(), Error);
}

template <class T>
void expect_limits_kept() {
  const T low = std::numeric_limits<T>::lowest();
  const T high = std::numeric_limits<T>::max();
  const Tensor tensor = Tensor::of<T>({2}, std::vector<T>{low, high});
  EXPECT_EQ(tensor.to_int64(), (std::vector<std::int64_t>{static_cast<std::int64_t>(low),
                                                          static_cast<std::int64_t>(high)}));
  EXPECT_EQ(tensor.to_double(),
            (std::vector<double>{static_cast<double>(low), static_cast<double>(high)}));
}

TEST(Tensor, ConvertsEveryIntegerTypeWithoutLoss) {
  expect_limits_kept<std::int8_t>();
  expect_limits_kept<std::uint8_t>();
  expect_limits_kept<std::int16_t>();
  expect_limits_kept<std::uint16_t>();
  expect_limits_kept<std::int32_t>();
  expect_limits_kept<std::uint32_t>();
  expect_limits_kept<std::int64_t>();
}

TEST(Tensor, ConvertsBoolFloatAndDouble) {
  const bool flags[] = {true, false};
  EXPECT_EQ(Tensor::of<bool>({2}, std::span<const bool>(flags)).to_int64(),
            (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(Tensor::scalar(0.1).to_float(), std::vector<float>{0.1F});
  EXPECT_EQ(Tensor::scalar(-2.9F).to_int64(), std::vector<std::int64_t>{-2});
}

TEST(DTypeNames, ReadBackAndOthersAreRefused) {
  for (int i = 0; i <= static_cast<int>(DType::kBfloat16); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_THROW((void)dtype_from_name("float"), Error);
}

TEST(NormalizedAxis, CountsFromTheEndWhenNegative) {
  EXPECT_EQ(normalized_axis(-1, 3), 2U);
  EXPECT_EQ(normalized_axis(0, 3), 0U);
  EXPECT_THROW((void)normalized_axis(3, 3), Error);
  EXPECT_THROW((void)normalized_axis(-4, 3), Error);
}

/// The value of a finite half by the definition of the format.
double value_of(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1F;
  const int mantissa = half & 0x3FF;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_finite(std::uint16_t half) {
  return (half & 0x7C00) != 0x7C00;
}

TEST(Half, EveryPatternHasItsExactValue) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    const float value = half_to_float(half);
    if (is_finite(half)) {
      ASSERT_EQ(static_cast<double>(value), value_of(half)) << i;
      ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << i;
    } else if ((half & 0x3FF) == 0) {
      ASSERT_TRUE(std::isinf(value)) << i;
      ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << i;
    } else {
      ASSERT_TRUE(std::isnan(value)) << i;
    }
  }
}

TEST(Half, EveryPatternButNanConvertsBackToItself) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    if (!std::isnan(half_to_float(half))) {
      ASSERT_EQ(float_to_half(half_to_float(half)), half);
    } else {
      ASSERT_TRUE(std::isnan(half_to_float(float_to_half(half_to_float(half)))));
    }
  }
}

TEST(Half, RoundsToTheNearerNeighbourAndTiesToEven) {
  // Between each two neighbouring halves: the middle, and one float to either side of it.
  for (std::uint16_t half = 0; half < 0x7BFF; ++half) {
    const auto next = static_cast<std::uint16_t>(half + 1);
    const auto middle = static_cast<float>((value_of(half) + value_of(next)) / 2);
    const std::uint16_t even = (half & 1) == 0 ? half : next;
    ASSERT_EQ(float_to_half(middle), even) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), half);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), next);
    ASSERT_EQ(float_to_half(-middle), even | 0x8000);
  }
}

TEST(Half, OverflowsToInfinityFromHalfAStepAboveTheLargest) {
  EXPECT_EQ(float_to_half(std::nextafter(65520.0F, 0.0F)), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::max()), 0xFC00);
}

/// The values of bfloat16 are those of binary32 whose lower half is 0.
TEST(Bfloat16, EveryPatternIsTheUpperHalfOfAFloatAndConvertsBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = bfloat16_to_float(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), i << 16U);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value))));
    } else {
      ASSERT_EQ(float_to_bfloat16(value), bits);
    }
  }
}

TEST(Bfloat16, RoundsToTheNearerNeighbourAndTiesToEven) {
  for (std::uint32_t i = 0; i < 0x7F80; ++i) {  // the positive finite ones
    const auto bits = static_cast<std::uint16_t>(i);
    const auto next = static_cast<std::uint16_t>(i + 1);
    const auto even = static_cast<std::uint16_t>(i + i % 2);
    const auto middle = std::bit_cast<float>((i << 16U) + 0x8000U);
    ASSERT_EQ(float_to_bfloat16(middle), even) << bits;
    ASSERT_EQ(float_to_bfloat16(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(float_to_bfloat16(std::nextafter(middle, std::numeric_limits<float>::infinity())),
              next);
    ASSERT_EQ(float_to_bfloat16(-middle), even | 0x8000);
  }
}

TEST(Half, TensorsConvertIt) {
  Tensor tensor(DType::kFloat16, {2});
  const std::uint16_t bits[] = {0x3C00, 0xC580};  // 1 and -5.5
  std::memcpy(tensor.mutable_data(), bits, sizeof bits);
  EXPECT_EQ(tensor.to_float(), (std::vector<float>{1, -5.5F}));
  EXPECT_EQ(tensor.to_int64(), (std::vector<std::int64_t>{1, -5}));
}

}  // namespace
}  // namespace tare::test
