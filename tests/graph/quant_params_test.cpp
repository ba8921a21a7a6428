
#include "tare/arithmetic.h"
#include "tare/tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

QuantSpec u8() {
  return {.storage = DType::kUint8};
}

TEST(ToQuantParams, MapsAnOneSidedRangeOntoTheWholeStorageRange) {
  const QuantParams params = to_quant_params({{0, 6.375}}, u8());
  EXPECT_EQ(params.scale, std::vector<float>{0.025F});
  EXPECT_EQ(params.zero_point, std::vector<std::int32_t>{0});
}

TEST(ToQuantParams, NeverCutsAnEndOfTheRange) {
  for (int i = 1; i < 400; ++i) {
    const Range range{-0.01 * i, 2.0};
    const QuantParams params = to_quant_params({range}, u8());
    const double scale = params.scale[0];
    const double zero = params.zero_point[0];
    // One float rounding of the scale over at most 255 steps.
    const double slack = 255 * scale * 0x1p-23;
    EXPECT_LE(scale * (0 - zero), range.low + slack);
    EXPECT_GE(scale * (255 - zero), range.high - slack);
  }
}

TEST(ToQuantParams, KeepsARangeThatExcludesZeroExactAtZero) {
  const QuantParams params = to_quant_params({{3, 5}}, u8());
  EXPECT_EQ(params.zero_point[0], 0);
  EXPECT_FLOAT_EQ(params.scale[0], 5.0F / 255);
}

TEST(ToQuantParams, GivesDegenerateRangesADefinedResult) {
  EXPECT_EQ(to_quant_params({{0, 0}}, u8()), (QuantParams{.storage = DType::kUint8}));
  const QuantParams tiny = to_quant_params({{0, 1e-44}}, u8());
  EXPECT_EQ(tiny.scale[0], 1.0F);
}

TEST(ToQuantParams, SymmetricNarrowInt8Uses127StepsEachWay) {
  const QuantSpec spec{.storage = DType::kInt8, .symmetric = true, .narrow_range = true};
  const QuantParams params = to_quant_params({{-2.54, 1}}, spec);
  EXPECT_FLOAT_EQ(params.scale[0], 0.02F);
  EXPECT_EQ(params.zero_point[0], 0);
}

/// Every weight by its indices; blocks along each axis, of which the last may be shorter.
TEST(QuantParams, InBlocksTakeTheScaleOfTheirPlace) {
  const Shape shape{3, 5, 4};
  std::mt19937 random(3);
  std::vector<float> values(60);
  for (float& value : values) {
    value = static_cast<float>(random() % 2001) / 100.0F - 10;
  }
  const Tensor x = Tensor::of<float>(shape, values);
  for (int axis = 0; axis < 3; ++axis) {
    for (const int block : {1, 2, 3, 5, 7}) {
      QuantParams params{.storage = DType::kInt8, .scale = {}, .zero_point = {}, .axis = axis};
      params.block = block;
      const std::int64_t blocks = (shape[static_cast<std::size_t>(axis)] + block - 1) / block;
      Shape of_scales = shape;
      of_scales[static_cast<std::size_t>(axis)] = blocks;
      for (std::int64_t i = 0; i < element_count(of_scales); ++i) {
        params.scale.push_back(0.25F + 0.125F * static_cast<float>(i));
        params.zero_point.push_back(static_cast<std::int32_t>(i % 9) - 4);
      }
      const Tensor q = quantize(x, params);
      const auto integers = q.to_int64();
      const auto back = dequantize(q, params).to_float();
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 5; ++j) {
          for (std::int64_t k = 0; k < 4; ++k) {
            const auto at = static_cast<std::size_t>((i * 5 + j) * 4 + k);
            std::int64_t index[] = {i, j, k};
            index[axis] /= block;
            const auto place = static_cast<std::size_t>(
                (index[0] * of_scales[1] + index[1]) * of_scales[2] + index[2]);
            const float scale = params.scale[place];
            const std::int64_t zero = params.zero_point[place];
            const float steps = std::nearbyint(values[at] / scale) + static_cast<float>(zero);
            EXPECT_EQ(static_cast<float>(integers[at]), std::clamp(steps, -128.0F, 127.0F));
            EXPECT_EQ(back[at], static_cast<float>(integers[at] - zero) * scale);
          }
        }
      }
    }
  }
}

TEST(ToQuantParams, UsesAsManyBitsOfTheStorageTypeAsAskedFor) {
  const QuantParams i4 = to_quant_params(
      {{-1.4, 1}},
      {.storage = DType::kInt8, .symmetric = true, .narrow_range = true, .bits = 4});
  EXPECT_FLOAT_EQ(i4.scale[0], 0.2F);
  EXPECT_EQ(i4.range().low, -7);
  EXPECT_EQ(i4.range().high, 7);
  const Tensor x = Tensor::of<float>({4}, std::vector<float>{-9, -1.4F, 0.5F, 9});
  EXPECT_EQ(quantize(x, i4).to_int64(), (std::vector<std::int64_t>{-7, -7, 2, 7}));

  const QuantParams u2 = to_quant_params({{-1, 2}}, {.storage = DType::kUint8, .bits = 2});
  EXPECT_EQ(
      u2, (QuantParams{.storage = DType::kUint8, .scale = {1}, .zero_point = {1}, .bits = 2}));
  EXPECT_EQ(storage_range(DType::kInt16, false, 16).low, -32768);
}

TEST(ToQuantParams, ADeadChannelTakesTheWidestChannelsScale) {
  const QuantSpec spec{.storage = DType::kInt8,
                       .granularity = Granularity::kPerAxis,
                       .axis = 0,
                       .symmetric = true,
                       .narrow_range = true};
  const QuantParams params = to_quant_params({{-1.27, 1.27}, {0, 0}, {-0.0127, 0}}, spec);
  EXPECT_EQ(params.scale, (std::vector<float>{0.01F, 0.01F, 0.0001F}));
}

bool is_power_of_two(float x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5F;
}

std::vector<QuantSpec> power_of_two_specs() {
  std::vector<QuantSpec> specs;
  for (const DType storage : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16}) {
    for (const bool symmetric : {false, true}) {
      for (const bool narrow : {false, true}) {
        specs.push_back({.storage = storage,
                         .symmetric = symmetric,
                         .narrow_range = narrow,
                         .power_of_two = true});
      }
    }
  }
  return specs;
}

/// Ranges of all sizes: around 0, on either side of it, and some that just fill a scale.
std::vector<Range> random_ranges() {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Range> ranges;
  for (int i = 0; i < 3000; ++i) {
    const double size = std::ldexp(1, static_cast<int>(random() % 180) - 90);
    const auto [low, high] = std::minmax({uniform(random) * size, uniform(random) * size});
    ranges.push_back({low, high});
    const double below = static_cast<double>(random() % 300) * size;
    ranges.push_back({-below, 255 * size - below});
    ranges.push_back({-below - uniform(random) * size, 254 * size - below});
  }
  return ranges;
}

/// Whether some zero point that the spec allows lets the range in at that scale.
bool holds(const Range& range, double scale, const QuantSpec& spec) {
  const StorageRange storage = storage_range(spec.storage, spec.narrow_range);
  const auto low = static_cast<double>(storage.low);
  const auto high = static_cast<double>(storage.high);
  if (spec.symmetric) {
    const double middle = std::floor((low + high + 1) / 2);
    return std::max(-range.low, range.high) <= scale * (high - middle);
  }
  const double first = std::ceil(low - std::min(range.low, 0.0) / scale);
  const double last = std::floor(high - std::max(range.high, 0.0) / scale);
  return first <= last;
}

TEST(PowerOfTwoScales, AreTheSmallestThatHoldTheRange) {
  for (const QuantSpec& spec : power_of_two_specs()) {
    for (const Range& range : random_ranges()) {
      const QuantParams params = to_quant_params({range}, spec);
      ASSERT_TRUE(is_power_of_two(params.scale[0])) << params.scale[0];
      const double scale = params.scale[0];
      const double zero = params.zero_point[0];
      const StorageRange storage = params.range();
      ASSERT_GE(zero, storage.low);
      ASSERT_LE(zero, storage.high);
      ASSERT_LE(scale * (static_cast<double>(storage.low) - zero), range.low);
      ASSERT_GE(scale * (static_cast<double>(storage.high) - zero), range.high);
      ASSERT_FALSE(holds(range, scale / 2, spec))
          << range.low << ".." << range.high << " in " << to_string(params);
    }
  }
}

TEST(PowerOfTwoScales, AreNotWidenedWhereAnotherZeroPointFits) {
  const QuantSpec spec{.storage = DType::kUint8, .power_of_two = true};
  // Rounding puts the zero point of [-25.02, 229] at 25, which cuts the low end off at scale 1.
  EXPECT_EQ(to_quant_params({{-25.02, 229}}, spec),
            (QuantParams{.storage = DType::kUint8, .scale = {1}, .zero_point = {26}}));
  // Between 25.5 and 25.7 there is none.
  EXPECT_EQ(to_quant_params({{-25.5, 229.3}}, spec).scale[0], 2);
}

TEST(PowerOfTwoScales, LeaveZeroAtTheEndOfAOneSidedRange) {
  // So that a Relu costs nothing.
  for (const QuantSpec& spec : power_of_two_specs()) {
    if (spec.symmetric) {
      continue;
    }
    const StorageRange storage = storage_range(spec.storage, spec.narrow_range);
    for (double reach = 0.01; reach < 100; reach *= 1.01) {
      EXPECT_EQ(to_quant_params({{0, reach}}, spec).zero_point[0], storage.low) << reach;
      EXPECT_EQ(to_quant_params({{-reach, 0}}, spec).zero_point[0], storage.high) << reach;
    }
  }
}

TEST(PowerOfTwoScales, AreThoseOfTheWidestChannelWhereOneIsDead) {
  const QuantSpec spec{.storage = DType::kInt8,
                       .granularity = Granularity::kPerAxis,
                       .axis = 0,
                       .symmetric = true,
                       .narrow_range = true,
                       .power_of_two = true};
  const QuantParams params = to_quant_params({{-127, 127}, {0, 0}, {-1, 0}, {0, 127.5}}, spec);
  EXPECT_EQ(params.scale, (std::vector<float>{1, 2, 0x1p-6F, 2}));
}

TEST(PowerOfTwoScales, OfDegenerateRangesAreOne) {
  for (QuantSpec spec : power_of_two_specs()) {
    for (const Range& range : {Range{0, 0}, Range{0, 1e-45}, Range{-1e-45, 0}}) {
      const QuantParams params = to_quant_params({range}, spec);
      EXPECT_EQ(params.scale[0], 1);
      spec.power_of_two = false;
      EXPECT_EQ(params, to_quant_params({range}, spec));
    }
  }
}

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  const QuantParams params{.storage = DType::kInt8, .scale = {0.5F}, .zero_point = {-1}};
  const auto q = quantize(Tensor::of<float>({6}, {0.25F, 0.75F, -0.25F, 100, -100, 1}), params);
  EXPECT_EQ(q, (Tensor::of<std::int8_t>({6}, {-1, 1, -1, 127, -128, 1})));
}

// TVM's golden vectors for qnn.quantize, which hold for half-to-even as well (no ties in them).
TEST(Quantize, MatchesPublishedVectors) {
  const QuantParams params{.storage = DType::kUint8, .scale = {0.5F}, .zero_point = {127}};
  const auto x =
      Tensor::of<float>({10}, {-63.5F, -63, -62.5F, -62, -61.5F, 62, 62.5F, 63, 63.5F, 64});
  EXPECT_EQ(quantize(x, params),
            (Tensor::of<std::uint8_t>({10}, {0, 1, 2, 3, 4, 251, 252, 253, 254, 255})));
  const QuantParams per_axis{
      .storage = DType::kUint8, .scale = {0.5F, 0.25F}, .zero_point = {127, 123}, .axis = 0};
  const auto rows =
      Tensor::of<float>({2, 5}, {-63.5F, -63, -62.5F, -62, -61.5F, 30, 31, 31.5F, 31.75F, 32});
  EXPECT_EQ(quantize(rows, per_axis),
            (Tensor::of<std::uint8_t>({2, 5}, {0, 1, 2, 3, 4, 243, 247, 249, 250, 251})));
}

TEST(Dequantize, IsWithinHalfAStepOfWhatWasQuantized) {
  std::vector<float> values;
  for (int i = -100; i <= 100; ++i) {
    values.push_back(0.0137F * static_cast<float>(i));
  }
  const auto x = Tensor::of<float>({201}, values);
  const QuantParams params = to_quant_params({{-1.37, 1.37}}, u8());
  const Tensor back = dequantize(quantize(x, params), params);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(back.view<float>()[i], values[i], params.scale[0] * 0.5F * 1.00001F);
  }
}

}  // namespace
}  // namespace tare::test
