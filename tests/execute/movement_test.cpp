#include "tare/error.h"

#include "support/graphs.h"
#include "support/index.h"
#include "support/node_run.h"
#include "support/random/random.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// 0, 1, 2, ... as far as the element type goes.
Tensor counted(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  const std::size_t size = size_of(dtype);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(tensor.size()); ++i) {
    std::memcpy(tensor.mutable_data() + i * size, &i, size);
  }
  return tensor;
}

TEST(Transpose, MovesElementsOfEverySize) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const auto rank = static_cast<std::size_t>(random.integer(1, 5));
    const Shape from = random.integers(rank, 1, rank < 4 ? 40 : 7);
    std::vector<std::int64_t> perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    for (std::size_t i = rank; i > 1; --i) {
      std::swap(
          perm[i - 1],
          perm[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
    Shape to;
    for (const std::int64_t axis : perm) {
      to.push_back(from[static_cast<std::size_t>(axis)]);
    }
    const DType dtype = std::array{DType::kInt8, DType::kFloat16, DType::kInt32,
                                   DType::kInt64}[static_cast<std::size_t>(round % 4)];
    const Tensor x = counted(dtype, from);
    const Tensor y =
        run_node(make_node("Transpose", {{"perm", perm}}), {{x}}, {typed(dtype, to)})[0];
    const std::size_t size = size_of(dtype);
    for_each_index(to, [&](const Shape& index) {
      Shape source(rank);
      for (std::size_t axis = 0; axis < rank; ++axis) {
        source[static_cast<std::size_t>(perm[axis])] = index[axis];
      }
      ASSERT_EQ(std::memcmp(y.data() + offset(to, index) * size,
                            x.data() + offset(from, source) * size, size),
                0);
    });
  }
}

TEST(Slice, AgreesWithPythonOnEveryStartEndAndStep) {
  const std::int64_t extent = 5;
  const Tensor x = counted(DType::kInt64, {extent});
  for (std::int64_t start = -7; start <= 7; ++start) {
    for (std::int64_t end = -7; end <= 7; ++end) {
      for (const std::int64_t step : {-3, -1, 1, 2}) {
        // Python: walk from the clamped start while before the clamped end.
        const auto wrap = [&](std::int64_t i) { return i < 0 ? i + extent : i; };
        const std::int64_t last = step > 0
                                      ? std::clamp<std::int64_t>(wrap(end), 0, extent)
                                      : std::clamp<std::int64_t>(wrap(end), -1, extent - 1);
        std::int64_t at = step > 0 ? std::clamp<std::int64_t>(wrap(start), 0, extent)
                                   : std::clamp<std::int64_t>(wrap(start), -1, extent - 1);
        std::vector<std::int64_t> expected;
        for (; step > 0 ? at < last : at > last; at += step) {
          expected.push_back(at);
        }
        const auto result =
            run_node(make_node("Slice"),
                     {{x}, constant({start}), constant({end}), constant({0}), constant({step})},
                     {typed(DType::kInt64, {static_cast<std::int64_t>(expected.size())})});
        EXPECT_EQ(result[0].to_int64(), expected) << start << ":" << end << ":" << step;
      }
    }
  }
}

TEST(Pad, ReflectsAsOftenAsNeeded) {
  const Tensor x = Tensor::of<float>({3}, std::vector{1.F, 2.F, 3.F});
  EXPECT_EQ(run_node(make_node("Pad", {{"mode", std::string("reflect")}}),
                     {{x}, constant({5, 2})}, {f32({10})})[0]
                .to_float(),
            (std::vector{2.F, 1.F, 2.F, 3.F, 2.F, 1.F, 2.F, 3.F, 2.F, 1.F}));
}

TEST(Resize, KeepsALinearRampLinear) {
  // Inside of the operand, interpolating f(x) = x gives the position itself.
  std::vector<float> ramp(16);
  std::iota(ramp.begin(), ramp.end(), 0.F);
  const NodeInput absent{Tensor(DType::kFloat32, {0}), true};
  const Node node =
      make_node("Resize", {{"mode", std::string("linear")},
                           {"coordinate_transformation_mode", std::string("half_pixel")}});
  const auto y =
      run_node(node, {{Tensor::of<float>({16, 1}, ramp)}, absent, absent, constant({40, 3})},
               {f32({40, 3})})[0]
          .to_float();
  for (std::size_t i = 1; i < 39; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      // Two roundings of weights and products of numbers below 16.
      EXPECT_NEAR(y[i * 3 + k], (static_cast<double>(i) + 0.5) / 2.5 - 0.5, 16 * 0x1p-22);
    }
  }
}

TEST(Resize, RepeatsPixelsWhenDoubledByNearest) {
  const Tensor x = counted(DType::kUint8, {1, 2, 3, 5});
  const NodeInput absent{Tensor(DType::kFloat32, {0}), true};
  const Node node =
      make_node("Resize", {{"coordinate_transformation_mode", std::string("asymmetric")},
                           {"nearest_mode", std::string("floor")}});
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    const Tensor y = run_node(
        node, {{x}, absent, {Tensor::of<float>({4}, std::vector{1.F, 1.F, 2.F, 2.F}), true}},
        {typed(DType::kUint8, {1, 2, 6, 10})}, layout)[0];
    for_each_index(y.shape(), [&](const Shape& i) {
      EXPECT_EQ(y.view<std::uint8_t>()[offset(y.shape(), i)],
                x.view<std::uint8_t>()[offset(x.shape(), {i[0], i[1], i[2] / 2, i[3] / 2})]);
    });
  }
}

TEST(Gathers, RefuseIndicesOutsideOfTheOperand) {
  const Tensor x = counted(DType::kFloat32, {3, 2});
  const auto indices = [](Shape shape, std::vector<std::int64_t> values) {
    return NodeInput{Tensor::of<std::int64_t>(std::move(shape), values)};
  };
  for (const std::int64_t wrong : {std::int64_t{3}, std::int64_t{-4}, std::int64_t{1} << 62}) {
    EXPECT_THROW(run_node(make_node("Gather"), {{x}, indices({1}, {wrong})}, {f32({1, 2})}),
                 Error);
    EXPECT_THROW(
        run_node(make_node("GatherElements"), {{x}, indices({1, 1}, {wrong})}, {f32({1, 1})}),
        Error);
    EXPECT_THROW(
        run_node(make_node("GatherND"), {{x}, indices({1, 1}, {wrong})}, {f32({1, 2})}), Error);
    EXPECT_THROW(run_node(make_node("ScatterND"),
                          {{x}, indices({1, 1}, {wrong}), {counted(DType::kFloat32, {1, 2})}},
                          {f32({3, 2})}),
                 Error);
  }
}

TEST(TopK, PutsNanFirstAndKeepsTheOrderOfEquals) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({6}, std::vector{1.F, nan, 3.F, 3.F, nan, 2.F});
  const auto result =
      run_node(make_node("TopK"), {{x}, constant({4})}, {f32({4}), typed(DType::kInt64, {4})});
  EXPECT_EQ(result[1].to_int64(), (std::vector<std::int64_t>{1, 4, 2, 3}));
}

TEST(OneHot, LeavesIndicesOutsideOfTheDepthCold) {
  const Tensor indices = Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{0, -1, 3, -4});
  const Tensor values = Tensor::of<float>({2}, std::vector{5.F, 7.F});
  EXPECT_EQ(
      run_node(make_node("OneHot"), {{indices}, constant({3}), {values}}, {f32({4, 3})})[0]
          .to_float(),
      (std::vector{7.F, 5.F, 5.F, 5.F, 5.F, 7.F, 5.F, 5.F, 5.F, 5.F, 5.F, 5.F}));
}

TEST(MovementKernels, RefuseAResultOfAnotherShapeThanTheModelClaims) {
  const NodeInput x{counted(DType::kFloat32, {2, 6})};
  const std::vector wrong{f32({1, 3})};
  EXPECT_THROW(run_node(make_node("Transpose"), {x}, wrong), Error);
  EXPECT_THROW(run_node(make_node("Concat", {{"axis", std::int64_t{0}}}), {x, x}, wrong),
               Error);
  EXPECT_THROW(run_node(make_node("Split", {{"axis", std::int64_t{0}}}), {x}, wrong), Error);
  EXPECT_THROW(run_node(make_node("Slice"), {x, constant({0}), constant({1})}, wrong), Error);
  EXPECT_THROW(run_node(make_node("Pad"), {x, constant({0, 0, 0, 0})}, wrong), Error);
  EXPECT_THROW(run_node(make_node("Tile"), {x, constant({1, 1})}, wrong), Error);
  EXPECT_THROW(run_node(make_node("Gather"), {x, constant({0})}, wrong), Error);
  EXPECT_THROW(run_node(make_node("ReduceSum"), {x}, wrong), Error);
  EXPECT_THROW(run_node(make_node("Reshape"), {x, constant({1, 3})}, wrong), Error);
}

}  // namespace
}  // namespace tare::test
