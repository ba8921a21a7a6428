
#include "tare/config.h"
#include "tare/integer_graph.h"

#include "lower/forms/engine_wishes.h"
#include "lower/lower.h"
#include "support/same_structure.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// An integer convolution and one in float read the same value.
Graph mixed() {
  return parse(
      "graph \"g\" opset 17 (%x : f32[1,2,1,1]) -> (%a, %b) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\n"
      "const %v : i8[2,2,1,1] = [1, 2, 3, 4]\nconst %i : i8[] = [0]\n"
      "const %w : f32[2,2,1,1] = [1, 2, 3, 4]\n"
      "%q = QuantizeLinear(%x, %s, %z) : u8[1,2,1,1]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[1,2,1,1]\n"
      "%e = DequantizeLinear(%v, %s, %i) : f32[2,2,1,1]\n"
      "%p = Conv(%d, %e) : f32[1,2,1,1]\n"
      "%r = QuantizeLinear(%p, %s, %z) : u8[1,2,1,1]\n"
      "%a = DequantizeLinear(%r, %s, %z) : f32[1,2,1,1]\n"
      "%b = Conv(%d, %w) : f32[1,2,1,1]\n}");
}

/// Elements of the scales of what the first operand of that node is dequantized with.
std::int64_t scales_before(const Graph& graph, const std::string& result) {
  const auto id = graph.producer(*graph.find_value(result));
  const auto dequantize = graph.producer(graph.node(*id).inputs[0]);
  return graph.constant(graph.node(*dequantize).inputs[1])->size();
}

TEST(RepeatedScales, StandBeforeFloatWeightsOnly) {
  const Graph spread = with_repeated_scales(mixed());
  EXPECT_EQ(scales_before(spread, "b"), 2);
  EXPECT_EQ(scales_before(spread, "p"), 1);
}

TEST(RepeatedScales, AreReadAsTheOneTheyAre) {
  const Graph integer = lower(from_qdq(mixed()));
  Target target;
  target.rounds_float_weights = true;
  EXPECT_EQ(scales_before(export_form(integer, Form::kQoperator, target), "b"), 2);
  const Graph exported = export_form(integer, Form::kQdq, target);
  EXPECT_EQ(scales_before(exported, "b"), 2);
  EXPECT_EQ(structural_difference(integer, lower(from_qdq(exported))), "");
}

TEST(RepeatedScales, StandAlongAnAxisThatTheModelDoesNotLeaveOpen) {
  Graph sentences = parse(
      "graph \"g\" opset 17 (%x : f32[1,7,3]) -> (%b) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %w : f32[3,1] = [1, 2, 3]\n"
      "%q = QuantizeLinear(%x, %s, %z) : u8[1,7,3]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[1,7,3]\n"
      "%b = MatMul(%d, %w) : f32[1,7,1]\n}");
  EXPECT_EQ(scales_before(with_repeated_scales(sentences), "b"), 7);
  sentences.dimension_names["x"] = {"", "length", ""};
  EXPECT_EQ(scales_before(with_repeated_scales(sentences), "b"), 3);
}

TEST(RepeatedScales, AreMissingWhereThereIsNoAxisForThem) {
  const Graph one = parse(
      "graph \"g\" opset 17 (%x : f32[3,1]) -> (%b) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %w : f32[1,2] = [1, 2]\n"
      "%q = QuantizeLinear(%x, %s, %z) : u8[3,1]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[3,1]\n"
      "%b = Gemm(%d, %w) : f32[3,2]\n}");
  EXPECT_EQ(with_repeated_scales(one), one);
}

}  // namespace
}  // namespace tare::test
