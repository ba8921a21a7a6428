// Operators whose operands and results have one width.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "lower/lower.h"
#include "support/random/random.h"
#include "support/same_structure.h"

#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Target both_widths() {
  return read_target("qnn");
}

/// Bytes of the storage values that each operator has, conversions and weights left out.
void expect_one_width(const Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op == "Quantize" || node.op == "Dequantize" || node.op == "Requantize") {
      continue;
    }
    std::set<std::size_t> widths;
    const auto look_at = [&](ValueId value) {
      const TensorType& type = graph.type(value);
      if (type.quant && size_of(type.dtype) <= 2) {
        widths.insert(size_of(type.dtype));
      }
    };
    for (const ValueId input : node.inputs) {
      if (graph.constant(input) == nullptr || node.op == "Add" || node.op == "Concat") {
        look_at(input);
      }
    }
    for (const ValueId output : node.outputs) {
      look_at(output);
      for (const NodeId user : graph.users(output)) {
        if (graph.type(output).dtype == DType::kInt64 && graph.node(user).op == "Requantize") {
          look_at(graph.node(user).outputs[0]);
        }
      }
    }
    EXPECT_EQ(widths.size(), 1U) << node.name << '\n' << print(graph, 8);
  }
}

std::vector<Tensor> outputs(const Graph& graph, const Tensor& x) {
  return Executable(graph).run(std::span(&x, 1));
}

Tensor random_bytes(const Shape& shape, std::uint32_t seed) {
  Random random(seed);
  Tensor result(DType::kUint8, shape);
  for (std::uint8_t& value : result.mutable_view<std::uint8_t>()) {
    value = static_cast<std::uint8_t>(random.integer(0, 255));
  }
  return result;
}

/// A convolution of bytes to u16.
std::string convolution_with_bias(const std::string& bias) {
  return "graph \"g\" opset 21 (%x : u8[1,2,3,3] q(0.5, 100)) -> (%y) {\n"
         "const %w : i8[2,2,1,1] q(axis=0, [0.25, 2], [0, 0]) = [-128, 127, 5, -77]\n"
         "const %b : i32[2] q(axis=0, [0.125, 1], [0, 0]) = [" +
         bias +
         "]\n"
         "%s = Conv(%x, %w, %b) : i32[1,2,3,3] q(axis=1, [0.125, 1], [0, 0])\n"
         "%y = Requantize(%s) : u16[1,2,3,3] q(1.5, 30000)\n}";
}

TEST(EqualWidths, OfASumAreThoseOfWhatItIsRescaledTo) {
  const Graph mixed = parse(convolution_with_bias("-300, 77"));
  const Graph equal = with_equal_widths(mixed, both_widths(), {});
  expect_one_width(equal);
  const Node& product = equal.node(*equal.find_node("s"));
  EXPECT_EQ(equal.type(product.inputs[0]).dtype, DType::kUint16);
  EXPECT_EQ(equal.constant(product.inputs[2])->to_int64(),
            (std::vector<std::int64_t>{-300 * 256, 77 * 256}));
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Tensor x = random_bytes({1, 2, 3, 3}, seed);
    EXPECT_EQ(outputs(equal, x), outputs(mixed, x)) << "finer steps lose nothing";
  }
}

TEST(EqualWidths, LeaveRoomForALargeBias) {
  // 2^27 in steps of an eighth fits as it is, and times 8, but not times 16 and more.
  const Graph mixed = parse(convolution_with_bias("134217728, -134217728"));
  const Graph equal = with_equal_widths(mixed, both_widths(), {});
  expect_one_width(equal);
  const Node& product = equal.node(*equal.find_node("s"));
  EXPECT_EQ(
      equal.constant(product.inputs[2])->to_int64(),
      (std::vector<std::int64_t>{std::int64_t{134217728} * 8, std::int64_t{-134217728} * 8}));
  const Tensor x = random_bytes({1, 2, 3, 3}, 1);
  EXPECT_EQ(outputs(equal, x), outputs(mixed, x));
}

TEST(EqualWidths, LeaveRoomInAccumulatorsOfFewerBits) {
  // Sums down to -128 * 155 - 127 * 100 - 300 in 20 bits: times 8 they fit, times 16 not.
  std::string text = convolution_with_bias("-300, 77");
  const std::string conv = "Conv(%x, %w, %b)";
  text.insert(text.find(conv) + conv.size(),
              " {accumulator_bits=20, accumulator_overflow=\"saturate\"}");
  const Graph mixed = parse(text);
  const Graph equal = with_equal_widths(mixed, both_widths(), {});
  expect_one_width(equal);
  const Node& product = equal.node(*equal.find_node("s"));
  EXPECT_EQ(equal.constant(product.inputs[2])->to_int64(),
            (std::vector<std::int64_t>{-300 * 8, 77 * 8}));
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Tensor x = random_bytes({1, 2, 3, 3}, seed);
    EXPECT_EQ(outputs(equal, x), outputs(mixed, x)) << "nothing saturates";
  }
}

TEST(EqualWidths, OfTwoComputedOperandsAreCountedBoth) {
  const Graph mixed = parse(
      "graph \"g\" opset 21 (%x : u8[1,2,3,3] q(0.5, 100)) -> (%y) {\n"
      "%s = MatMul(%x, %x) : i32[1,2,3,3] q(0.25, 0)\n"
      "%y = Requantize(%s) : u16[1,2,3,3] q(1.5, 30000)\n}");
  const Graph equal = with_equal_widths(mixed, both_widths(), {});
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Tensor x = random_bytes({1, 2, 3, 3}, seed);
    EXPECT_EQ(outputs(equal, x), outputs(mixed, x)) << "finer steps lose nothing";
  }
}

TEST(EqualWidths, RoundAResultOfBytesTwice) {
  const Graph mixed = parse(
      "graph \"g\" opset 21 (%x : u16[1,2,3,3] q(0.001, 30000)) -> (%y) {\n"
      "const %w : i8[2,2,1,1] q(axis=0, [0.25, 2], [0, 0]) = [-128, 127, 5, -77]\n"
      "%s = Conv(%x, %w) : i64[1,2,3,3] q(axis=1, [0.00025, 0.002], [0, 0])\n"
      "%q = Requantize(%s) : u8[1,2,3,3] q(4, 60)\n"
      "%y = MaxPool(%q) {kernel_shape=[1, 1]} : u8[1,2,3,3] q(4, 60)\n}");
  const Graph equal = with_equal_widths(mixed, both_widths(), {});
  expect_one_width(equal);
  const ValueId wide = equal.node(*equal.producer(*equal.find_value("q"))).inputs[0];
  EXPECT_EQ(equal.type(wide).quant->scale[0], 4.F / 256);
  EXPECT_EQ(equal.type(wide).quant->zero_point[0], 60 * 256);
  Random random(3);
  Tensor x(DType::kUint16, {1, 2, 3, 3});
  for (std::uint16_t& value : x.mutable_view<std::uint16_t>()) {
    value = static_cast<std::uint16_t>(random.integer(0, 65535));
  }
  const auto once = outputs(mixed, x)[0].to_int64();
  const auto twice = outputs(equal, x)[0].to_int64();
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_LE(std::abs(once[i] - twice[i]), 1) << i;
  }
}

TEST(EqualWidths, OfOperandsAreThoseOfTheWidestAlsoOfConstants) {
  const Graph mixed = parse(
      "graph \"g\" opset 21 (%x : u8[4] q(0.5, 3)) -> (%y) {\n"
      "const %c : i8[4] q(0.25, -5) = [-128, 0, 1, 127]\n"
      "const %d : u16[4] q(0.001, 9) = [0, 1, 4000, 65535]\n"
      "%s = Add(%x, %c) : u16[4] q(0.002, 30000)\n"
      "%t = Concat(%s, %d) {axis=0} : u16[8] q(0.002, 30000)\n"
      "%u = Requantize(%x) : u16[4] q(0.01, 500)\n"
      "%y = Concat(%u, %t) {axis=0} : u16[12] q(0.002, 30000)\n}");
  const Graph equal = with_equal_widths(mixed, both_widths(), {});
  expect_one_width(equal);
  const Tensor x = random_bytes({4}, 2);
  EXPECT_EQ(outputs(equal, x), outputs(mixed, x));
}

TEST(EqualWidths, ConvertAValueOnceForAllWhoReadIt) {
  const Graph mixed = parse(
      "graph \"g\" opset 21 (%x : u8[4] q(0.5, 3)) -> (%y) {\n"
      "%s = Add(%x, %x) : u16[4] q(0.002, 30000)\n"
      "%t = Mul(%x, %s) : u16[4] q(0.1, 0)\n"
      "%y = Add(%t, %x) : u16[4] q(0.1, 0)\n}");
  const Graph equal = with_equal_widths(mixed, both_widths(), {});
  expect_one_width(equal);
  EXPECT_EQ(equal.users(equal.inputs()[0]).size(), 1U);
}

TEST(EqualWidths, AreNothingToTargetsWithOneWidthOrAListOfKernels) {
  const Graph mixed = parse(convolution_with_bias("1, 2"));
  for (const char* name : {"ort-cpu", "tensorrt", "openvino"}) {
    EXPECT_EQ(structural_difference(with_equal_widths(mixed, read_target(name), {}), mixed),
              "");
  }
}

}  // namespace
}  // namespace tare::test
