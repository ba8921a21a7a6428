#include "simulate/quantized_constants.h"

#include "tare/arithmetic.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Of 4 bits, two channels of three.
QuantParams two_channels(DType storage, std::vector<std::int32_t> zero_points) {
  QuantParams params;
  params.storage = storage;
  params.scale = {0.5F, 0.25F};
  params.zero_point = zero_points;
  params.axis = 0;
  params.bits = 4;
  return params;
}

TEST(Centre, MovesIntegersAndZeroPointsOfEachChannelToZero) {
  QuantParams params = two_channels(DType::kInt8, {-8, 3});
  Tensor integers = Tensor::of<std::int8_t>({2, 3}, {-8, 0, 7, -8, 3, 7});
  const Tensor real = dequantize(integers, params);
  centre(integers, params);
  EXPECT_EQ(integers, Tensor::of<std::int8_t>({2, 3}, {0, 8, 15, -11, 0, 4}));
  EXPECT_EQ(params.zero_point.to_vector(), (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(params.bits, 0) << "they have 5 bits now";
  EXPECT_EQ(dequantize(integers, params), real);
}

TEST(Centre, MovesUnsignedIntegersToTheMiddleOfTheirType) {
  QuantParams params = two_channels(DType::kUint8, {0, 15});
  Tensor integers = Tensor::of<std::uint8_t>({2, 3}, {0, 8, 15, 0, 8, 15});
  const Tensor real = dequantize(integers, params);
  centre(integers, params);
  EXPECT_EQ(integers, Tensor::of<std::uint8_t>({2, 3}, {128, 136, 143, 113, 121, 128}));
  EXPECT_EQ(dequantize(integers, params), real);
}

TEST(Centre, MovesTheOneZeroPointOfAll) {
  QuantParams params;
  params.zero_point = {5};
  params.bits = 6;
  Tensor integers = Tensor::of<std::int8_t>({3}, {-32, 5, 31});
  centre(integers, params);
  EXPECT_EQ(integers, Tensor::of<std::int8_t>({3}, {-37, 0, 26}));
  EXPECT_EQ(params.zero_point[0], 0);
}

TEST(Centre, LeavesWhatItCannotOrNeedNotMove) {
  QuantParams of_eight_bits = two_channels(DType::kInt8, {-8, 3});
  of_eight_bits.bits = 0;
  QuantParams of_seven_bits = two_channels(DType::kInt8, {-8, 3});
  of_seven_bits.bits = 7;
  QuantParams in_blocks = two_channels(DType::kInt8, {-8, 3});
  in_blocks.block = 3;
  for (QuantParams params :
       {of_eight_bits, of_seven_bits, in_blocks, two_channels(DType::kInt8, {0, 0})}) {
    const QuantParams before = params;
    Tensor integers = Tensor::of<std::int8_t>({2, 3}, {-8, 0, 7, -8, 3, 7});
    const Tensor as_they_were = integers;
    centre(integers, params);
    EXPECT_EQ(integers, as_they_were);
    EXPECT_EQ(params, before);
  }
}

}  // namespace
}  // namespace tare::test
