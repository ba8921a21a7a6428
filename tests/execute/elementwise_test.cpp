#include "tare/error.h"

#include "support/graphs.h"
#include "support/index.h"
#include "support/node_run.h"
#include "support/random/random.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Shape with some axes made 1 and some leading ones dropped.
Shape narrowed(const Shape& shape, Random& random) {
  Shape result(shape.begin() + random.integer(0, static_cast<std::int64_t>(shape.size())),
               shape.end());
  for (std::int64_t& extent : result) {
    extent = random.coin() ? extent : 1;
  }
  return result;
}

/// Position in an operand of the element that broadcasting puts at `index` of the result.
std::size_t broadcast_offset(const Shape& operand, Shape index) {
  index.erase(index.begin(), index.end() - static_cast<std::ptrdiff_t>(operand.size()));
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    index[axis] = operand[axis] == 1 ? 0 : index[axis];
  }
  return offset(operand, index);
}

TEST(BroadcastKernels, PairTheElementsThatNumpyPairs) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const Shape shape = random.integers(static_cast<std::size_t>(random.integer(0, 4)), 1, 5);
    const Tensor a = random.tensor(narrowed(shape, random));
    const Tensor b = random.tensor(narrowed(shape, random));
    Tensor condition(DType::kBool, narrowed(shape, random));
    for (bool& value : condition.mutable_view<bool>()) {
      value = random.coin();
    }
    const Tensor difference = run_node(make_node("Sub"), {{a}, {b}}, {f32(shape)})[0];
    const Tensor chosen =
        run_node(make_node("Where"), {{condition}, {a}, {b}}, {f32(shape)})[0];
    for_each_index(shape, [&](const Shape& index) {
      const float x = a.view<float>()[broadcast_offset(a.shape(), index)];
      const float y = b.view<float>()[broadcast_offset(b.shape(), index)];
      const bool first = condition.view<bool>()[broadcast_offset(condition.shape(), index)];
      const std::size_t at = offset(shape, index);
      ASSERT_EQ(difference.view<float>()[at], x - y);
      ASSERT_EQ(chosen.view<float>()[at], first ? x : y);
    });
  }
}

TEST(BroadcastKernels, RefuseAShapeThatOperandsDoNotBroadcastTo) {
  const NodeInput x{Tensor(DType::kFloat32, {2, 3})};
  const NodeInput y{Tensor(DType::kFloat32, {4, 2, 3})};
  EXPECT_THROW(run_node(make_node("Add"), {x, y}, {f32({2, 3})}), Error);
  EXPECT_THROW(run_node(make_node("Add"), {x, x}, {f32({2, 2})}), Error);
  EXPECT_THROW(run_node(make_node("Relu"), {x}, {f32({2, 2})}), Error);
}

std::vector<float> unary(const char* op, const std::vector<float>& values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return run_node(make_node(op), {{Tensor::of<float>(shape, values)}}, {f32(shape)})[0]
      .to_float();
}

TEST(UnaryKernels, HandNanOnAndKeepInfinities) {
  for (const char* op :
       {"Relu", "LeakyRelu", "Elu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Erf",
        "Gelu", "Softplus", "Clip", "Exp", "Sqrt", "Abs", "Round"}) {
    EXPECT_TRUE(std::isnan(unary(op, {kNan})[0])) << op;
  }
  EXPECT_EQ(unary("Relu", {-kInfinity, kInfinity}), (std::vector{0.F, kInfinity}));
  EXPECT_EQ(unary("Clip", {-kInfinity, kInfinity}), (std::vector{-kInfinity, kInfinity}));
}

TEST(UnaryKernels, RoundHalfToEven) {
  EXPECT_EQ(unary("Round", {-2.5F, -1.5F, -.5F, .5F, 1.5F, 2.5F, 0x1p23F + 1}),
            (std::vector{-2.F, -2.F, -0.F, 0.F, 2.F, 2.F, 0x1p23F + 1}));
}

template <class T>
std::vector<T> combine(const char* op, const std::vector<T>& a, const std::vector<T>& b) {
  const Shape shape{static_cast<std::int64_t>(a.size())};
  const Tensor result =
      run_node(make_node(op), {{Tensor::of<T>(shape, a)}, {Tensor::of<T>(shape, b)}},
               {typed(DTypeOf<T>::kValue, shape)})[0];
  return {result.view<T>().begin(), result.view<T>().end()};
}

TEST(IntegerKernels, NeverTrap) {
  constexpr auto kLow = std::numeric_limits<std::int64_t>::min();
  using Values = std::vector<std::int64_t>;
  EXPECT_EQ(combine<std::int64_t>("Div", {7, kLow, -7, 5}, {0, -1, 2, -2}),
            (Values{0, kLow, -3, -2}));
  EXPECT_EQ(combine<std::int64_t>("Mod", {7, kLow, -7, 7}, {0, -1, 3, -3}),
            (Values{0, 0, 2, -2}));
  EXPECT_EQ(combine<std::int64_t>("Add", {kLow}, {-1}),
            (Values{std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(combine<std::int64_t>("Pow", {3, 2, -1, 2}, {4, 70, -3, -1}),
            (Values{81, 0, -1, 0}));
}

TEST(MaxAndMin, LetNanWin) {
  for (const char* op : {"Max", "Min"}) {
    for (const float value : combine<float>(op, {kNan, 1}, {1, kNan})) {
      EXPECT_TRUE(std::isnan(value)) << op;
    }
  }
}

TEST(Cast, SaturatesFromFloatAndWrapsBetweenIntegers) {
  const Tensor real = Tensor::of<float>({5}, std::vector{kNan, 1e20F, -1e20F, 2.9F, -2.9F});
  const Tensor integer = run_node(make_node("Cast"), {{real}}, {typed(DType::kInt32, {5})})[0];
  EXPECT_EQ(integer.to_int64(), (std::vector<std::int64_t>{0, 2147483647, -2147483648, 2, -2}));
  const Tensor wide = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{257, -1});
  EXPECT_EQ(run_node(make_node("Cast"), {{wide}}, {typed(DType::kUint8, {2})})[0].to_int64(),
            (std::vector<std::int64_t>{1, 255}));
}

TEST(Softmax, StaysFiniteForHugeScores) {
  const Tensor x =
      Tensor::of<float>({2, 3}, std::vector{1e30F, 1e30F, -1e30F, -kInfinity, 0.F, 0.F});
  EXPECT_EQ(run_node(make_node("Softmax"), {{x}}, {f32({2, 3})})[0].to_float(),
            (std::vector{.5F, .5F, 0.F, 0.F, .5F, .5F}));
}

TEST(QuantizeLinear, IsTheToolkitsQuantize) {
  Random random(9);
  Tensor x = random.tensor({3, 4, 50});
  x.mutable_view<float>()[0] = kNan;
  x.mutable_view<float>()[1] = kInfinity;
  x.mutable_view<float>()[2] = -1e30F;
  for (const DType storage : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16}) {
    QuantParams params;
    params.storage = storage;
    params.scale = {0.01F, 0.02F, 0.5F, 1e-3F};
    params.zero_point = {3, 0, 100, 127};
    params.axis = 1;
    const NodeInput scale{Tensor::of<float>({4}, params.scale), true};
    Tensor zeros(storage, {4});
    for (std::size_t i = 0; i < 4; ++i) {
      const auto value = static_cast<std::uint16_t>(params.zero_point[i]);
      std::memcpy(zeros.mutable_data() + i * size_of(storage), &value, size_of(storage));
    }
    const Tensor q = run_node(make_node("QuantizeLinear"), {{x}, scale, {zeros, true}},
                              {typed(storage, x.shape())})[0];
    EXPECT_EQ(q, quantize(x, params)) << name_of(storage);
    EXPECT_EQ(run_node(make_node("DequantizeLinear"), {{q}, scale, {zeros, true}},
                       {f32(x.shape())})[0],
              dequantize(q, params));
  }
}

TEST(DequantizeLinear, InBlocksIsTheToolkitsDequantize) {
  Random random(10);
  const Shape shape{3, 7, 4};
  for (int axis = 0; axis < 3; ++axis) {
    for (const std::int64_t block : {1, 2, 3, 7, 100}) {  // of 7 and 3 the last one is shorter
      QuantParams params{.storage = DType::kInt8, .scale = {}, .zero_point = {}, .axis = axis};
      params.block = static_cast<int>(block);
      Shape blocks = shape;
      std::int64_t& extent = blocks[static_cast<std::size_t>(axis)];
      extent = (extent + block - 1) / block;
      Tensor zeros(DType::kInt8, blocks);
      for (std::int64_t i = 0; i < element_count(blocks); ++i) {
        params.scale.push_back(std::abs(random.real()) + 0.125F);
        params.zero_point.push_back(static_cast<std::int32_t>(random.integer(-9, 9)));
        zeros.mutable_view<std::int8_t>()[static_cast<std::size_t>(i)] =
            static_cast<std::int8_t>(params.zero_point.back());
      }
      const Tensor scale = Tensor::of<float>(blocks, params.scale);
      const Tensor q = quantize(random.tensor(shape), params);
      const Node node = make_node("DequantizeLinear",
                                  {{"axis", std::int64_t{axis} - 3}, {"block_size", block}});
      EXPECT_EQ(run_node(node, {{q}, {scale, true}, {zeros, true}}, {f32(shape)})[0],
                dequantize(q, params))
          << axis << " " << block;
    }
  }
}

}  // namespace
}  // namespace tare::test
