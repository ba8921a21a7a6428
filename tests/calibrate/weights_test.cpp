#include "calibrate/rounding/weights.h"

#include "tare/graph.h"

#include "support/params.h"
#include "support/tensors.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

QuantPoint conv_weight(int axis = 0) {
  QuantPoint point;
  point.role = Role::kWeight;
  point.spec = {.storage = DType::kInt8,
                .granularity = Granularity::kPerAxis,
                .axis = axis,
                .symmetric = true,
                .narrow_range = true};
  return point;
}

QuantParams full_range_params(const Tensor& weights, const QuantPoint& point) {
  const auto axis = static_cast<std::size_t>(point.spec.axis);
  std::vector<Range> ranges(static_cast<std::size_t>(weights.shape()[axis]), Range{-3, 3});
  return to_quant_params(ranges, point.spec);
}

TEST(LimitPairs, BoundsNeighboursAlongTheInputChannelsOfEachKernelPosition) {
  const Tensor weights = normal_tensor({5, 7, 3, 2}, 1);
  const QuantPoint point = conv_weight();
  QuantParams params = full_range_params(weights, point);
  const QuantParams before = params;
  const std::vector<int> widened = limit_pairs(weights, {true, 0}, 128, point.spec, params);
  const Tensor q = quantize(weights, params);
  const auto storage = q.view<std::int8_t>();
  for (std::size_t o = 0; o < 5; ++o) {
    std::vector<int> order;
    for (std::size_t position = 0; position < 6; ++position) {
      for (std::size_t i = 0; i < 7; ++i) {
        order.push_back(storage[(o * 7 + i) * 6 + position]);
      }
    }
    for (std::size_t k = 0; k + 1 < order.size(); k += 2) {
      EXPECT_LE(std::abs(order[k] + order[k + 1]), 128) << "output " << o << " pair " << k;
    }
    const bool changed = params.scale[o] != before.scale[o];
    EXPECT_EQ(changed,
              std::find(widened.begin(), widened.end(), static_cast<int>(o)) != widened.end());
  }
  EXPECT_FALSE(widened.empty());
}

TEST(LimitPairs, BoundsNeighboursAlongTheReducedAxisOfAMatrix) {
  const Tensor weights = normal_tensor({9, 4}, 2);
  const QuantPoint point = conv_weight(1);
  QuantParams params = full_range_params(weights, point);
  limit_pairs(weights, {false, 1}, 128, point.spec, params);
  const Tensor q = quantize(weights, params);
  const auto storage = q.view<std::int8_t>();
  for (std::size_t column = 0; column < 4; ++column) {
    for (std::size_t row = 0; row + 1 < 9; row += 2) {
      EXPECT_LE(std::abs(storage[row * 4 + column] + storage[(row + 1) * 4 + column]), 128);
    }
  }
}

TEST(LimitPairs, StaysWithPowersOfTwoWhereTheSpecAsksForThem) {
  const Tensor weights = normal_tensor({5, 7, 3, 2}, 1);
  QuantPoint point = conv_weight();
  point.spec.power_of_two = true;
  // The largest values saturate, so there are pairs to limit.
  QuantParams params = to_quant_params(std::vector<Range>(5, {-1, 1}), point.spec);
  EXPECT_FALSE(limit_pairs(weights, {true, 0}, 128, point.spec, params).empty());
  EXPECT_TRUE(are_powers_of_two(params.scale));
  EXPECT_TRUE(limit_pairs(weights, {true, 0}, 128, point.spec, params).empty());
}

TEST(KernelOrder, LeavesOutDepthwiseAndTransposedKernelsOnly) {
  const auto conv = [](Shape weights, std::int64_t groups, const char* op = "Conv") {
    Graph graph;
    const ValueId x = graph.add_input("x", {.shape = {1, groups * weights[1], 8, 8}});
    const ValueId w = graph.add_constant("w", normal_tensor(weights, 1));
    const NodeId id = graph.add_node("conv", op, {x, w}, {{"y", {}}}, {{"group", groups}});
    return kernel_order(graph, graph.node(id)).has_value();
  };
  EXPECT_FALSE(conv({6, 1, 3, 3}, 6));
  EXPECT_TRUE(conv({6, 1, 3, 3}, 1)) << "one input channel is not depthwise";
  EXPECT_TRUE(conv({12, 1, 3, 3}, 6)) << "with a multiplier the general kernel runs";
  EXPECT_FALSE(conv({6, 2, 3, 3}, 1, "ConvTranspose"));
}

TEST(FitBias, WidensTheScaleOfAChannelWhoseBiasWouldOverflow) {
  QuantParams weight{.storage = DType::kInt8,
                     .scale = {1e-3F, 1e-9F},
                     .zero_point = {0, 0},
                     .axis = 0,
                     .narrow_range = true};
  const Tensor bias = Tensor::of<float>({2}, {5, -5});
  const float input_scale = 0.01F;
  EXPECT_EQ(fit_bias(bias, input_scale, conv_weight().spec, weight), std::vector<int>{1});
  EXPECT_EQ(weight.scale[0], 1e-3F);
  const double stored =
      5.0 / (static_cast<double>(input_scale) * static_cast<double>(weight.scale[1]));
  EXPECT_LT(stored, std::numeric_limits<std::int32_t>::max());
  // No wider than needed: half that scale would overflow.
  EXPECT_GT(stored * 2, std::numeric_limits<std::int32_t>::max());
}

TEST(FitBias, StaysWithPowersOfTwoWhereTheSpecAsksForThem) {
  QuantSpec spec = conv_weight().spec;
  spec.power_of_two = true;
  QuantParams weight{.storage = DType::kInt8,
                     .scale = {0x1p-10F, 0x1p-30F},
                     .zero_point = {0, 0},
                     .axis = 0,
                     .narrow_range = true};
  // 5 / 2^-6 / 2^31 lies between 2^-23 and 2^-22.
  EXPECT_EQ(fit_bias(Tensor::of<float>({2}, {5, -5}), 0x1p-6F, spec, weight),
            std::vector<int>{1});
  EXPECT_EQ(weight.scale, (std::vector<float>{0x1p-10F, 0x1p-22F}));
}

}  // namespace
}  // namespace tare::test
