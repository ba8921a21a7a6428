// Results that TVM's tests of its quantized operators give (test_op_qnn_dense.py, _add.py,
// _subtract.py, _mul.py, _unary_elementwise.py), and cases of those of its conversion of fake
// quantization, in the integer graph.
#include "tare/execute.h"

#include "lower/lower.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Values = std::vector<std::int64_t>;

template <class Q>
Tensor tensor(const Shape& shape, const Values& values) {
  const std::vector<Q> elements(values.begin(), values.end());
  return Tensor::of<Q>(shape, elements);
}

/// The body of a graph of Dequantize, float operators and Quantize, on integers.
Values lowered(const std::string& inputs, const std::string& body,
               std::vector<Tensor> samples) {
  const Graph graph =
      lower(parse("graph \"g\" opset 17 (" + inputs + ") -> (%z) {\n" + body + "\n}"));
  for (const NodeId id : graph.nodes()) {
    EXPECT_NE(graph.type(graph.node(id).outputs[0]).dtype, DType::kFloat32) << print(graph);
  }
  return Executable(graph).run(samples)[0].to_int64();
}

Values dense(const std::string& weight, const std::string& bias, const std::string& result) {
  std::string rows;
  for (int row = 0; row < 3; ++row) {
    rows += (row > 0 ? ", " : "") + std::string("1, 3, 5, 7, 9, 11, 13, 15, 17, 19");
  }
  return lowered("%q : i8[2,10] q(0.5, -1)",
                 "const %v : i8[3,10] " + weight + " = [" + rows +
                     "]\n%x = Dequantize(%q) : f32[2,10]\n%w = Dequantize(%v) : f32[3,10]\n" +
                     bias + "%y = Gemm(%x, %w" + (bias.empty() ? "" : ", %b") +
                     ") {transB=1} : f32[2,3]\n%z = Quantize(%y) : " + result,
                 {tensor<std::int8_t>({2, 10}, {1, 3, 5, 7, 9, 11, 13, 15,  -19, -21,
                                                1, 3, 5, 7, 9, 11, 13, -17, 17,  -21})});
}

TEST(GoldenVectors, OfDense) {
  // In steps of the accumulator, 0.5 * 0.5.
  EXPECT_EQ(dense("q(0.5, -1)", "", "i16[2,3] q(0.25, 0)"),
            (Values{92, 92, 92, 228, 228, 228}));
  const std::string bias =
      "const %c : i32[3] q(0.25, 0) = [4, 8, 12]\n%b = Dequantize(%c) : f32[3]\n";
  EXPECT_EQ(dense("q(0.5, -1)", bias, "i16[2,3] q(0.25, 0)"),
            (Values{96, 100, 104, 232, 236, 240}));
  EXPECT_EQ(dense("q(0.5, -1)", bias, "i8[2,3] q(1, -1)"), (Values{23, 24, 25, 57, 58, 59}));
}

TEST(GoldenVectors, OfDensePerChannel) {
  const std::string bias =
      "const %c : i32[3] q(axis=0, [0.25, 0.15, 0.2], [0, 0, 0]) = [4, 8, 12]\n"
      "%b = Dequantize(%c) : f32[3]\n";
  EXPECT_EQ(dense("q(axis=0, [0.5, 0.3, 0.4], [-1, -1, -1])", bias, "i8[2,3] q(1, -1)"),
            (Values{23, 14, 20, 57, 34, 47}));
}

struct Sides {
  std::string left;
  std::string right;
  std::string result;
};

Values binary(const std::string& op, const Sides& q, const Values& left, const Values& right) {
  const std::string n = "[" + std::to_string(left.size()) + "]";
  return lowered("%p : u8" + n + " " + q.left + ", %q : u8" + n + " " + q.right,
                 "%x = Dequantize(%p) : f32" + n + "\n%y = Dequantize(%q) : f32" + n +
                     "\n%s = " + op + "(%x, %y) : f32" + n + "\n%z = Quantize(%s) : u8" + n +
                     " " + q.result,
                 {tensor<std::uint8_t>({static_cast<std::int64_t>(left.size())}, left),
                  tensor<std::uint8_t>({static_cast<std::int64_t>(right.size())}, right)});
}

TEST(GoldenVectors, OfAddAndSubtractWithOneSetOfParameters) {
  const std::string q = "q(0.00784314, 127)";
  const Values left{140, 153, 165, 178};
  const Values right{204, 178, 165, 140};
  EXPECT_EQ(binary("Add", {q, q, q}, left, right), (Values{217, 204, 203, 191}));
  EXPECT_EQ(binary("Sub", {q, q, q}, left, right), (Values{63, 102, 127, 165}));
}

/// TVM rounds each operand to the result's parameters before it adds them; here sums are
/// rounded once, which is nearer to the real sum by up to a step.
void expect_near_twice_rounded(const Values& actual, const Values& golden) {
  ASSERT_EQ(actual.size(), golden.size());
  for (std::size_t i = 0; i < golden.size(); ++i) {
    EXPECT_NEAR(actual[i], golden[i], 1) << i;
  }
}

TEST(GoldenVectors, OfAddAndSubtractBetweenParameters) {
  const Sides q{"q(0.0156863, 127)", "q(0.0117647, 85)", "q(0.0235294, 128)"};
  const Values left{76, 140, 153, 172};
  const Values right{136, 119, 128, 17};
  expect_near_twice_rounded(binary("Add", q, left, right), {120, 154, 167, 124});
  expect_near_twice_rounded(binary("Sub", q, left, right), {68, 120, 123, 192});
}

TEST(GoldenVectors, OfAddAndSubtractSaturate) {
  const std::string q = "q(0.125, 0)";
  EXPECT_EQ(binary("Add", {q, q, q}, {255, 0, 1, 0}, {255, 255, 1, 0}),
            (Values{255, 255, 2, 0}));
  EXPECT_EQ(binary("Add", {q, q, "q(0.25, 0)"}, {255, 0, 1, 0}, {255, 255, 1, 0}),
            (Values{255, 128, 1, 0}));
  EXPECT_EQ(binary("Sub", {q, q, q}, {255, 0, 1, 0}, {255, 255, 1, 0}), (Values{0, 0, 0, 0}));
}

TEST(GoldenVectors, OfMultiplyAreTheRoundedProducts) {
  const std::array sides{
      Sides{"q(0.00784314, 127)", "q(0.00784314, 127)", "q(0.00784314, 127)"},
      Sides{"q(0.0156863, 127)", "q(0.0117647, 85)", "q(0.0235294, 128)"}};
  const std::array<std::array<double, 6>, 2> numbers{
      {{0.00784314, 127, 0.00784314, 127, 0.00784314, 127},
       {0.0156863, 127, 0.0117647, 85, 0.0235294, 128}}};
  const Values left{76, 140, 153, 172, 0, 255};
  const Values right{136, 119, 128, 17, 255, 255};
  for (std::size_t k = 0; k < sides.size(); ++k) {
    const auto& [ls, lz, rs, rz, s, z] = numbers[k];
    Values expected;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const double product =
          ls * (static_cast<double>(left[i]) - lz) * rs * (static_cast<double>(right[i]) - rz);
      expected.push_back(
          static_cast<std::int64_t>(std::clamp(std::round(product / s + z), 0.0, 255.0)));
    }
    EXPECT_EQ(binary("Mul", sides[k], left, right), expected);
  }
}

struct Function {
  std::string op;
  std::function<double(double)> f;
  int first = -128;  ///< code, of i8
};

class TableOf : public ::testing::TestWithParam<Function> {};

TEST_P(TableOf, AllCodesIsTheRoundedFunction) {
  const auto [op, f, first] = GetParam();
  Values codes(static_cast<std::size_t>(128 - first));
  std::iota(codes.begin(), codes.end(), first);
  const std::string n = "[" + std::to_string(codes.size()) + "]";
  const Values actual =
      lowered("%q : i8" + n + " q(0.125, 0)",
              "%x = Dequantize(%q) : f32" + n + "\n%y = " + op + "(%x) : f32" + n +
                  "\n%z = Quantize(%y) : i8" + n + " q(0.125, 0)",
              {tensor<std::int8_t>({static_cast<std::int64_t>(codes.size())}, codes)});
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const double exact = f(static_cast<double>(codes[i]) * 0.125) / 0.125;
    EXPECT_EQ(actual[i], std::clamp(std::nearbyint(exact), -128.0, 127.0)) << codes[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, TableOf,
    ::testing::Values(Function{"Tanh", [](double x) { return std::tanh(x); }},
                      Function{"Exp", [](double x) { return std::exp(x); }},
                      Function{"Sqrt", [](double x) { return std::sqrt(x); }, 1},
                      Function{"Rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1},
                      Function{"Erf", [](double x) { return std::erf(x); }},
                      Function{"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
                      Function{"HardSwish",
                               [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
                      Function{"Log", [](double x) { return std::log(x); }, 1},
                      Function{"Abs", [](double x) { return std::abs(x); }}),
    [](const auto& info) { return info.param.op; });

struct Top {
  std::int64_t k;
  std::int64_t axis;
  bool largest;
};

/// The values that a stable sort along the axis puts first.
Values sorted_first(const Values& x, const Shape& shape, const Top& top) {
  const bool along_rows = top.axis == 0;
  const std::int64_t lines = along_rows ? shape[1] : shape[0];
  const std::int64_t length = along_rows ? shape[0] : shape[1];
  Values result(static_cast<std::size_t>(lines * top.k));
  for (std::int64_t line = 0; line < lines; ++line) {
    Values sorted;
    for (std::int64_t i = 0; i < length; ++i) {
      sorted.push_back(
          x[static_cast<std::size_t>(along_rows ? i * lines + line : line * length + i)]);
    }
    std::sort(sorted.begin(), sorted.end(),
              [&](auto a, auto b) { return top.largest ? a > b : a < b; });
    for (std::int64_t i = 0; i < top.k; ++i) {
      result[static_cast<std::size_t>(along_rows ? i * lines + line : line * top.k + i)] =
          sorted[static_cast<std::size_t>(i)];
    }
  }
  return result;
}

TEST(GoldenVectors, OfTopKIncludingNone) {
  const Shape shape{20, 100};
  Values x(2000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int64_t>(i * 7919 % 127);
  }
  for (const std::int64_t axis : {0, 1}) {
    for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5},
                                 shape[static_cast<std::size_t>(axis)]}) {
      for (const bool largest : {false, true}) {
        const std::string type = to_string(axis == 0 ? Shape{k, 100} : Shape{20, k});
        const Values actual = lowered(
            "%q : u8[20,100] q(2, 0)",
            "const %k : i64[1] = [" + std::to_string(k) +
                "]\n%x = Dequantize(%q) : f32[20,100]\n%y, %i = TopK(%x, %k) {axis=" +
                std::to_string(axis) + ", largest=" + (largest ? "1" : "0") + "} : f32" + type +
                ", i64" + type + "\n%z = Quantize(%y) : u8" + type + " q(2, 0)",
            {tensor<std::uint8_t>(shape, x)});
        EXPECT_EQ(actual, sorted_first(x, shape, {k, axis, largest})) << type;
      }
    }
  }
}

}  // namespace
}  // namespace tare::test
