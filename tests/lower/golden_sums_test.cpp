// Cases and results of TVM's tests of quantized convolutions and batched products
// (test_op_qnn_conv2d.py, _conv2_transpose.py, _batch_matmul.py): what accumulators hold.
#include "tare/execute.h"

#include "lower/lower.h"
#include "support/graphs.h"
#include "support/index.h"
#include "support/params.h"
#include "support/random/fake_quantized.h"

#include <array>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Builder = FakeQuantizedBuilder;
using Values = std::vector<std::int64_t>;

struct Convolution {
  std::string name = {};
  Shape x;
  Shape w;
  int x_zero = 0;
  int w_zero = 0;
  std::int64_t group = 1;
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};  ///< top, left, bottom, right
  std::array<std::int64_t, 2> dilations{1, 1};
  bool transposed = false;

  friend std::ostream& operator<<(std::ostream& out, const Convolution& c) {
    return out << c.name;
  }
};

Shape result_shape(const Convolution& c) {
  Shape y{c.x[0], c.transposed ? c.w[1] * c.group : c.w[0], 0, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = c.dilations[i] * (c.w[i + 2] - 1);
    const std::int64_t padding = c.pads[i] + c.pads[i + 2];
    y[i + 2] = c.transposed ? (c.x[i + 2] - 1) * c.strides[i] + reach + 1 - padding
                            : (c.x[i + 2] + padding - reach - 1) / c.strides[i] + 1;
  }
  return y;
}

std::size_t flat(const Shape& shape, const std::array<std::int64_t, 4>& at) {
  std::int64_t index = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    index = index * shape[i] + at[i];
  }
  return static_cast<std::size_t>(index);
}

/// A transposed convolution adds to where a convolution of its result would read.
Values direct_sums(const Convolution& c, const Values& x, const Values& w) {
  const Shape y_shape = result_shape(c);
  const Shape& read = c.transposed ? y_shape : c.x;
  const Shape& windows = c.transposed ? c.x : y_shape;
  const std::int64_t inner = c.w[1];
  const std::int64_t outer = c.w[0] / c.group;
  Values y(static_cast<std::size_t>(element_count(y_shape)));
  for_each_index(windows, [&](const Shape& window) {
    for_each_index({inner, c.w[2], c.w[3]}, [&](const Shape& tap) {
      const std::int64_t row = window[2] * c.strides[0] - c.pads[0] + tap[1] * c.dilations[0];
      const std::int64_t column =
          window[3] * c.strides[1] - c.pads[1] + tap[2] * c.dilations[1];
      if (row < 0 || row >= read[2] || column < 0 || column >= read[3]) {
        return;
      }
      const std::int64_t channel = window[1] / outer * inner + tap[0];
      const std::size_t at_window = flat(windows, {window[0], window[1], window[2], window[3]});
      const std::size_t at_read = flat(read, {window[0], channel, row, column});
      const std::size_t at_w = flat(c.w, {window[1], tap[0], tap[1], tap[2]});
      y[c.transposed ? at_read : at_window] +=
          (x[c.transposed ? at_window : at_read] - c.x_zero) * (w[at_w] - c.w_zero);
    });
  });
  return y;
}

template <class Items>
std::vector<std::int64_t> listed(const Items& items) {
  return {items.begin(), items.end()};
}

Attributes attributes(const Convolution& c) {
  return {{"kernel_shape", std::vector<std::int64_t>{c.w[2], c.w[3]}},
          {"group", c.group},
          {"strides", listed(c.strides)},
          {"pads", listed(c.pads)},
          {"dilations", listed(c.dilations)}};
}

std::string name_of_op(const Convolution& c) {
  return c.transposed ? "ConvTranspose" : "Conv";
}

/// What the integer graph has in its accumulators. One node is left: scales are 1.
Values accumulated(Graph fake_quantized, const std::string& op,
                   const std::vector<Tensor>& samples) {
  const Graph graph = lower(std::move(fake_quantized));
  EXPECT_EQ(graph.node(*graph.producer(graph.outputs()[0])).op, op) << print(graph);
  EXPECT_TRUE(float_operators(graph).empty()) << print(graph);
  return Executable(graph).run(samples)[0].to_int64();
}

const QuantParams kSums = params(DType::kInt32, 1, 0);

class GoldenSums : public ::testing::TestWithParam<std::tuple<Convolution, DType>> {};

TEST_P(GoldenSums, AreThoseOfShiftedFactors) {
  const auto& [c, storage] = GetParam();
  Builder b(7);
  const ValueId x = b.input(c.x, params(storage, 1, c.x_zero));
  const ValueId w = b.weight(c.w, params(storage, 1, c.w_zero));
  const Values weight =
      b.graph.constant(b.graph.node(*b.graph.producer(w)).inputs[0])->to_int64();
  b.result(b.op(name_of_op(c), {x, w}, result_shape(c), attributes(c)), kSums);
  EXPECT_EQ(accumulated(b.graph, name_of_op(c), b.samples),
            direct_sums(c, b.samples[0].to_int64(), weight));
}

std::vector<Convolution> convolutions() {
  std::vector<Convolution> all;
  const auto add = [&](const std::string& name, const Convolution& c, int x_zero, int w_zero) {
    all.push_back(c);
    all.back().name = name + "_" + std::to_string(x_zero) + "_" + std::to_string(w_zero);
    all.back().x_zero = x_zero;
    all.back().w_zero = w_zero;
  };
  for (const auto& [x_zero, w_zero] : {std::pair{0, 0}, {0, 1}, {5, 0}, {5, 3}}) {
    add("Plain", {.x = {2, 4, 2, 4}, .w = {3, 4, 2, 2}}, x_zero, w_zero);
    add("Depthwise", {.x = {2, 3, 4, 2}, .w = {3, 1, 2, 2}, .group = 3}, x_zero, w_zero);
    add("Dilated", {.x = {2, 4, 4, 4}, .w = {3, 4, 2, 2}, .dilations = {2, 2}}, x_zero, w_zero);
    add("Pointwise", {.x = {2, 4, 2, 4}, .w = {3, 4, 1, 1}}, x_zero, w_zero);
    add("PointwiseWithStrides", {.x = {2, 4, 2, 4}, .w = {3, 4, 1, 1}, .strides = {2, 2}},
        x_zero, w_zero);
    add("Multiplier1", {.x = {2, 4, 16, 16}, .w = {4, 1, 3, 3}, .group = 4}, x_zero, w_zero);
    add("Multiplier2", {.x = {10, 4, 16, 16}, .w = {8, 1, 3, 3}, .group = 4}, x_zero, w_zero);
    add("Grouped", {.x = {2, 4, 4, 4}, .w = {6, 2, 2, 2}, .group = 2}, x_zero, w_zero);
    add("Transposed", {.x = {2, 4, 2, 4}, .w = {4, 3, 2, 2}, .transposed = true}, x_zero,
        w_zero);
    add("TransposedWithStrides",
        {.x = {2, 4, 3, 4}, .w = {4, 3, 3, 2}, .strides = {2, 3}, .transposed = true}, x_zero,
        w_zero);
    add("TransposedPadded",
        {.x = {2, 4, 4, 4}, .w = {4, 3, 2, 2}, .pads = {1, 1, 1, 1}, .transposed = true},
        x_zero, w_zero);
  }
  for (const auto& [x_zero, w_zero] : {std::pair{8, 5}, {8, 3}}) {
    add("Padded", {.x = {1, 4, 2, 2}, .w = {3, 4, 2, 2}, .pads = {1, 1, 1, 1}}, x_zero, w_zero);
    add("PaddedUnevenly", {.x = {2, 4, 2, 4}, .w = {3, 4, 2, 2}, .pads = {1, 1, 2, 2}}, x_zero,
        w_zero);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(OfEach, GoldenSums,
                         ::testing::Combine(::testing::ValuesIn(convolutions()),
                                            ::testing::Values(DType::kUint8, DType::kInt8)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  std::string(name_of(std::get<1>(info.param)));
                         });

Tensor bytes(const Shape& shape, const Values& values) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  return Tensor::of<std::uint8_t>(shape, bytes);
}

Values convolved(const Convolution& c, const Values& x, const Values& w) {
  Builder b(0);
  const ValueId data = b.input(c.x, u8(1, c.x_zero));
  const ValueId storage = b.graph.add_constant(
      "w", bytes(c.w, w),
      {.dtype = DType::kUint8, .shape = c.w, .quant = u8(1, c.w_zero), .point = {}});
  const NodeId weight =
      b.graph.add_node("real_w", "Dequantize", {storage}, {{"real_w", f32(c.w)}});
  b.result(
      b.op("Conv", {data, b.graph.node(weight).outputs[0]}, result_shape(c), attributes(c)),
      kSums);
  return accumulated(b.graph, "Conv", {bytes(c.x, x)});
}

TEST(GoldenSums, OfAConvolutionWithStrides) {
  EXPECT_EQ(convolved({.x = {2, 1, 2, 4},
                       .w = {3, 1, 2, 2},
                       .x_zero = 128,
                       .w_zero = 128,
                       .strides = {2, 2}},
                      {129, 129, 129, 129, 130, 130, 130, 130,  //
                       129, 130, 131, 132, 129, 130, 131, 132},
                      {129, 130, 131, 132, 127, 129, 127, 129, 127, 127, 129, 129}),
            (Values{17, 17, 0, 0, 2, 2, 16, 36, 2, 2, 0, 0}));
}

TEST(GoldenSums, OfAConvolutionWithOtherStridesInEachDirection) {
  EXPECT_EQ(convolved({.x = {1, 1, 3, 6},
                       .w = {1, 1, 2, 2},
                       .x_zero = 127,
                       .w_zero = 127,
                       .strides = {1, 3}},
                      {133, 131, 129, 125, 123, 121, 135, 133, 131,  //
                       123, 121, 119, 137, 135, 133, 121, 119, 117},
                      {129, 131, 133, 135}),
            (Values{124, -92, 164, -132}));
}

TEST(GoldenSums, OfZeroPointsAre0) {
  EXPECT_EQ(
      convolved({.x = {1, 1024, 1, 1}, .w = {1001, 1024, 1, 1}, .x_zero = 127, .w_zero = 127},
                Values(1024, 127), Values(std::size_t{1001} * 1024, 127)),
      Values(1001, 0));
}

class GoldenBatches : public ::testing::TestWithParam<std::tuple<int, int, DType>> {};

TEST_P(GoldenBatches, AreSumsOfShiftedFactors) {
  const int x_zero = std::get<0>(GetParam());
  const int y_zero = std::get<1>(GetParam());
  const DType storage = std::get<2>(GetParam());
  constexpr std::int64_t kBatches = 2;
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kColumns = 4;
  constexpr std::int64_t kInner = 5;
  Builder b(3);
  const ValueId x = b.input({kBatches, kRows, kInner}, params(storage, 1, x_zero));
  const ValueId y = b.input({kBatches, kColumns, kInner}, params(storage, 1, y_zero));
  const ValueId transposed = b.op("Transpose", {y}, {kBatches, kInner, kColumns},
                                  {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  b.result(b.op("MatMul", {x, transposed}, {kBatches, kRows, kColumns}), kSums);

  const Values left = b.samples[0].to_int64();
  const Values right = b.samples[1].to_int64();
  Values expected;
  for_each_index({kBatches, kRows, kColumns}, [&](const Shape& at) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < kInner; ++k) {
      const auto l = static_cast<std::size_t>((at[0] * kRows + at[1]) * kInner + k);
      const auto r = static_cast<std::size_t>((at[0] * kColumns + at[2]) * kInner + k);
      sum += (left[l] - x_zero) * (right[r] - y_zero);
    }
    expected.push_back(sum);
  });
  EXPECT_EQ(accumulated(b.graph, "MatMul", b.samples), expected);
}

INSTANTIATE_TEST_SUITE_P(OfEach, GoldenBatches,
                         ::testing::Combine(::testing::Values(0, 5), ::testing::Values(0, 3),
                                            ::testing::Values(DType::kUint8, DType::kInt8)));

}  // namespace
}  // namespace tare::test
