#include "tare/quant_params.h"

#include <gtest/gtest.h>

namespace tare {
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

TEST(ToQuantParams, ADeadChannelTakesTheWidestChannelsScale) {
  const QuantSpec spec{.storage = DType::kInt8,
                       .granularity = Granularity::kPerAxis,
                       .axis = 0,
                       .symmetric = true,
                       .narrow_range = true};
  const QuantParams params = to_quant_params({{-1.27, 1.27}, {0, 0}, {-0.0127, 0}}, spec);
  EXPECT_EQ(params.scale, (std::vector<float>{0.01F, 0.01F, 0.0001F}));
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
}  // namespace tare
