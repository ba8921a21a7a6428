#include "tare/execute.h"
#include "tare/graph.h"

#include "lower/lower.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> result;
  for (const NodeId id : graph.topological_order()) {
    result.push_back(graph.node(id).op);
  }
  std::sort(result.begin(), result.end());
  return result;
}

using Names = std::vector<std::string>;

TEST(FromQdq, TakesParametersFromOperandsToTypes) {
  const Graph graph =
      from_qdq(parse("graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
                     "const %s : f32[] = [0.5]\nconst %z : u8[] = [7]\n"
                     "%q = QuantizeLinear(%x, %s, %z) : u8[1,4]\n"
                     "%y = DequantizeLinear(%q, %s, %z) : f32[1,4]\n}"));
  EXPECT_EQ(operators(graph), (Names{"Dequantize", "Quantize"}));
  const TensorType& type = graph.type(*graph.find_value("q"));
  EXPECT_EQ(type.quant->scale, std::vector<float>{0.5F});
  EXPECT_EQ(type.quant->zero_point, std::vector<std::int32_t>{7});
  EXPECT_EQ(graph.name(graph.outputs()[0]), "y");
}

TEST(FromQdq, CountsANegativeAxisFromTheEnd) {
  const Graph graph =
      from_qdq(parse("graph \"g\" opset 17 (%q : i8[2,3]) -> (%y) {\n"
                     "const %s : f32[3] = [1, 2, 3]\n"
                     "%y = DequantizeLinear(%q, %s) {axis=-1} : f32[2,3]\n}"));
  EXPECT_EQ(graph.type(graph.inputs()[0]).quant->axis, 1);
  EXPECT_EQ(graph.type(graph.inputs()[0]).quant->zero_point, std::vector<std::int32_t>(3));
}

TEST(FromQdq, GivesAConstantThatIsReadTwoWaysTwoTypes) {
  const std::string text =
      "graph \"g\" opset 17 (%x : f32[2]) -> (%y) {\n"
      "const %w : i8[2] = [1, -3]\nconst %a : f32[] = [0.5]\nconst %b : f32[] = [4]\n"
      "%u = DequantizeLinear(%w, %a) : f32[2]\n%v = DequantizeLinear(%w, %b) : f32[2]\n"
      "%s = Add(%u, %x) : f32[2]\n%y = Add(%s, %v) : f32[2]\n}";
  const Graph graph = from_qdq(parse(text));
  EXPECT_EQ(operators(graph), (Names{"Add", "Add", "Dequantize", "Dequantize"}));
  const std::vector<Tensor> inputs{Tensor::of<float>({2}, {1, 2})};
  EXPECT_EQ(Executable(graph).run(inputs), Executable(parse(text)).run(inputs));
}

TEST(FromQdq, LeavesWhatItCannotSayInTypes) {
  // A computed scale; a scale of 0; two readings of a computed value.
  const Graph computed =
      from_qdq(parse("graph \"g\" opset 17 (%q : i8[2], %s : f32[]) -> (%y) {\n"
                     "%y = DequantizeLinear(%q, %s) : f32[2]\n}"));
  EXPECT_EQ(operators(computed), Names{"DequantizeLinear"});
  const Graph zero =
      from_qdq(parse("graph \"g\" opset 17 (%q : i8[2]) -> (%y) {\nconst %s : f32[] = [0]\n"
                     "%y = DequantizeLinear(%q, %s) : f32[2]\n}"));
  EXPECT_EQ(operators(zero), Names{"DequantizeLinear"});
  const Graph twice =
      from_qdq(parse("graph \"g\" opset 17 (%q : i8[2]) -> (%y) {\nconst %a : f32[] = [1]\n"
                     "const %b : f32[] = [2]\n%u = DequantizeLinear(%q, %a) : f32[2]\n"
                     "%v = DequantizeLinear(%q, %b) : f32[2]\n%y = Add(%u, %v) : f32[2]\n}"));
  EXPECT_EQ(operators(twice), (Names{"Add", "Dequantize", "DequantizeLinear"}));
}

TEST(FromQdq, LeavesIntegersThatAreQuantized) {
  const Graph graph =
      from_qdq(parse("graph \"g\" opset 17 (%x : i32[4]) -> (%y) {\n"
                     "const %s : f32[] = [0.5]\nconst %z : u8[] = [7]\n"
                     "%q = QuantizeLinear(%x, %s, %z) : u8[4]\n"
                     "%y = DequantizeLinear(%q, %s, %z) : f32[4]\n}"));
  EXPECT_EQ(operators(graph), (Names{"Dequantize", "QuantizeLinear"}));
}

TEST(FromQdq, LetsParametersFollowRawStorageValues) {
  // Bounds and pads are integers here, and the pad that goes without saying is the integer 0.
  const std::string text =
      "graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [7]\nconst %low : u8[] = [9]\n"
      "const %pads : i64[4] = [0, 1, 0, 1]\n"
      "%q = QuantizeLinear(%x, %s, %z) : u8[1,4]\n"
      "%t = Transpose(%q) {perm=[1, 0]} : u8[4,1]\n%c = Clip(%t, %low) : u8[4,1]\n"
      "%p = Pad(%c, %pads) : u8[4,3]\n"
      "%y = DequantizeLinear(%p, %s, %z) : f32[4,3]\n}";
  const Graph graph = from_qdq(parse(text));
  EXPECT_EQ(operators(graph), (Names{"Clip", "Dequantize", "Pad", "Quantize", "Transpose"}));
  const std::vector<Tensor> inputs{Tensor::of<float>({1, 4}, {-1, 0, 1.5F, 100})};
  EXPECT_EQ(Executable(graph).run(inputs), Executable(parse(text)).run(inputs));
}

TEST(FromQdq, FindsParametersBehindWhatMovedRawStorageValues) {
  const Graph graph =
      from_qdq(parse("graph \"g\" opset 17 (%i : i64[2]) -> (%y) {\n"
                     "const %s : f32[] = [0.5]\nconst %table : i8[3,2] = [1,2,3,4,5,6]\n"
                     "%r = Gather(%table, %i) : i8[2,2]\n"
                     "%y = DequantizeLinear(%r, %s) : f32[2,2]\n}"));
  EXPECT_EQ(operators(graph), (Names{"Dequantize", "Gather"}));
  EXPECT_EQ(graph.type(*graph.find_value("table")).quant,
            graph.type(*graph.find_value("r")).quant);
}

TEST(FromQdq, LeavesArithmeticOnRawStorageValues) {
  // As an Add of what the integers stand for it would give something else.
  const std::string text =
      "graph \"g\" opset 17 (%x : f32[2]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [7]\nconst %one : u8[] = [1]\n"
      "%q = QuantizeLinear(%x, %s, %z) : u8[2]\n%a = Add(%q, %one) : u8[2]\n"
      "%y = DequantizeLinear(%a, %s, %z) : f32[2]\n}";
  const Graph graph = from_qdq(parse(text));
  EXPECT_EQ(operators(graph), (Names{"Add", "DequantizeLinear", "Quantize"}));
  const std::vector<Tensor> inputs{Tensor::of<float>({2}, {-1, 3})};
  EXPECT_EQ(Executable(graph).run(inputs), Executable(parse(text)).run(inputs));
}

TEST(FromQdq, LeavesAxesThatTheValueDoesNotHave) {
  // The first one is 1 in 32 bits.
  for (const char* axis : {"4294967297", "2", "-3"}) {
    const Graph graph =
        from_qdq(parse("graph \"g\" opset 17 (%q : i8[3,3]) -> (%y) {\n"
                       "const %s : f32[3] = [1, 2, 3]\n%y = DequantizeLinear(%q, %s) {axis=" +
                       std::string(axis) + "} : f32[3,3]\n}"));
    EXPECT_EQ(operators(graph), Names{"DequantizeLinear"}) << axis;
  }
}

TEST(AccumulateProducts, LeavesBiasesThatAreNoRow) {
  const Graph graph = lower(
      parse("graph \"g\" opset 17 (%q : u8[2,3] q(0.5, 7)) -> (%z) {\n"
            "const %w : i8[3,2] q(0.25, 0) = [1, 2, 3, 4, 5, 6]\n"
            "const %b : f32[2,2] = [1, 2, 3, 4]\n"
            "%x = Dequantize(%q) : f32[2,3]\n%v = Dequantize(%w) : f32[3,2]\n"
            "%y = Gemm(%x, %v, %b) : f32[2,2]\n%z = Quantize(%y) : u8[2,2] q(0.5, 7)\n}"));
  EXPECT_EQ(operators(graph), (Names{"Dequantize", "Dequantize", "Gemm", "Quantize"}));
}

TEST(AccumulateProducts, LeavesBiasesThatDoNotFit) {
  const Graph graph = lower(
      parse("graph \"g\" opset 17 (%q : u8[2,3] q(0.5, 7)) -> (%z) {\n"
            "const %w : i8[3,2] q(1e-6, 0) = [1, 2, 3, 4, 5, 6]\n"
            "const %b : f32[2] = [1, 20000]\n"
            "%x = Dequantize(%q) : f32[2,3]\n%v = Dequantize(%w) : f32[3,2]\n"
            "%y = Gemm(%x, %v, %b) : f32[2,2]\n%z = Quantize(%y) : u8[2,2] q(0.5, 7)\n}"));
  EXPECT_EQ(operators(graph), (Names{"Dequantize", "Dequantize", "Gemm", "Quantize"}));
}

}  // namespace
}  // namespace tare::test
