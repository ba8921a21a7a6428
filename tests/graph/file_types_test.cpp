// Networks of other floating types than float32, there and back.
#include "tare/error.h"
#include "tare/graph.h"

#include "graph/operators/float_types.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::map<std::string, int> count_operators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId id : graph.nodes()) {
    ++counts[graph.node(id).op];
  }
  return counts;
}

DType type_of(const Graph& graph, const std::string& value) {
  return graph.type(*graph.find_value(value)).dtype;
}

constexpr const char* kHalves = R"(graph "g" opset 17 (%x : f16[1,4]) -> (%y) {
  const %w : f16[4,4] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.0999755859375]
  %h = MatMul(%x, %w) : f16[1,4]
  %y = Softmax(%h) {axis=-1} : f16[1,4]
})";

TEST(FileTypes, HalfPrecisionIsComputedInFloat32AndComesBackAsItWas) {
  const Graph graph = parse(kHalves);
  const Graph wide = in_float32(graph);
  for (const ValueId id : wide.values()) {
    EXPECT_EQ(wide.type(id).dtype, DType::kFloat32) << wide.name(id);
  }
  EXPECT_EQ(wide.file_types,
            (std::map<std::string, DType>{
                {"x", DType::kFloat16}, {"h", DType::kFloat16}, {"y", DType::kFloat16}}));
  EXPECT_NO_THROW(verify(wide));
  EXPECT_EQ(in_file_types(wide), graph);
}

TEST(FileTypes, OfANetworkOfFloat32AreNone) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[2], %i : i64[2]) -> (%y) {
  const %exact : f64[] = [0.1]
  %y = Relu(%x) : f32[2]
})");
  EXPECT_TRUE(in_float32(graph).file_types.empty());
  EXPECT_EQ(in_file_types(graph), graph);
}

/// As exporters write models that keep inputs and outputs of float32.
TEST(FileTypes, CastsBetweenFloatingTypesVanishAndComeBackAtTheBorders) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[1,4]) -> (%y) {
  %x16 = Cast(%x) {to=10} : f16[1,4]
  %a = Relu(%x16) : f16[1,4]
  %b = Sigmoid(%a) : f16[1,4]
  %y = Cast(%b) {to=1} : f32[1,4]
})");
  const Graph wide = in_float32(graph);
  EXPECT_EQ(count_operators(wide), (std::map<std::string, int>{{"Relu", 1}, {"Sigmoid", 1}}));
  EXPECT_EQ(wide.name(wide.outputs()[0]), "y");
  const Graph back = in_file_types(wide);
  EXPECT_NO_THROW(verify(back));
  EXPECT_EQ(count_operators(back),
            (std::map<std::string, int>{{"Cast", 2}, {"Relu", 1}, {"Sigmoid", 1}}));
  EXPECT_EQ(type_of(back, "x"), DType::kFloat32);
  EXPECT_EQ(type_of(back, "a"), DType::kFloat16);
  EXPECT_EQ(type_of(back, "y"), DType::kFloat32);
}

TEST(FileTypes, PartsThatTheFileComputesInFloat32StaySo) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f16[1,4]) -> (%y) {
  %a = Relu(%x) : f16[1,4]
  %wide = Cast(%a) {to=1} : f32[1,4]
  %sum = Exp(%wide) : f32[1,4]
  %narrow = Cast(%sum) {to=10} : f16[1,4]
  %y = Relu(%narrow) : f16[1,4]
})");
  const Graph back = in_file_types(in_float32(graph));
  EXPECT_NO_THROW(verify(back));
  EXPECT_EQ(type_of(back, "a"), DType::kFloat16);
  EXPECT_EQ(type_of(back, "sum"), DType::kFloat32);
  EXPECT_EQ(type_of(back, "y"), DType::kFloat16);
  EXPECT_EQ(count_operators(back), count_operators(graph));
}

TEST(FileTypes, ConversionsOfStorageValuesStayInFloat32) {
  Graph graph = parse(R"(graph "g" opset 17 (%x : f32[1,4]) -> (%y) {
  %q = Quantize(%x) : u8[1,4] q(0.00001, 0)
  %r = Dequantize(%q) : f32[1,4]
  %s = Sigmoid(%r) : f32[1,4]
  %t = Quantize(%s) : u8[1,4] q(0.00390625, 0)
  %y = Dequantize(%t) : f32[1,4]
})");
  graph.file_types = {{"x", DType::kFloat16}, {"s", DType::kFloat16}, {"y", DType::kFloat16}};
  const Graph back = in_file_types(graph);
  EXPECT_NO_THROW(verify(back));
  for (const NodeId id : back.nodes()) {
    const Node& node = back.node(id);
    if (node.op == "Quantize") {
      EXPECT_EQ(back.type(node.inputs[0]).dtype, DType::kFloat32);
    } else if (node.op == "Dequantize") {
      EXPECT_EQ(back.type(node.outputs[0]).dtype, DType::kFloat32);
    }
  }
  EXPECT_EQ(type_of(back, "x"), DType::kFloat16);
  EXPECT_EQ(type_of(back, "s"), DType::kFloat16);
  EXPECT_EQ(type_of(back, "y"), DType::kFloat16);
  EXPECT_EQ(count_operators(back)["Cast"], 4);
}

TEST(FileTypes, AConstantThatWouldOverflowKeepsItsOperatorInFloat32) {
  Graph graph = parse(R"(graph "g" opset 17 (%x : f32[1]) -> (%y) {
  const %large : f32[1] = [100000.0]
  %m = Mul(%x, %large) : f32[1]
  %y = Relu(%m) : f32[1]
})");
  graph.file_types = {{"x", DType::kFloat16}, {"m", DType::kFloat16}, {"y", DType::kFloat16}};
  const Graph back = in_file_types(graph);
  EXPECT_NO_THROW(verify(back));
  EXPECT_EQ(type_of(back, "m"), DType::kFloat32);
  EXPECT_EQ(type_of(back, "large"), DType::kFloat32);
  EXPECT_EQ(type_of(back, "y"), DType::kFloat16);
}

TEST(FileTypes, DoublesThatRescaleStorageValuesKeepTheirDigits) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f64[1], %s : i32[1]) -> (%y) {
  const %scale : f64[] = [0.1]
  %wide = Cast(%s) {to=11} : f64[1]
  %scaled = Mul(%wide, %scale) : f64[1]
  %back = Cast(%scaled) {to=11} : f64[1]
  %a = Relu(%x) : f64[1]
  %sum = Add(%scaled, %a) : f64[1]
  %y = Cast(%sum) {to=1} : f32[1]
})");
  const Graph wide = in_float32(graph);
  EXPECT_NO_THROW(verify(wide));
  EXPECT_EQ(type_of(wide, "scaled"), DType::kFloat64);
  EXPECT_EQ(type_of(wide, "scale"), DType::kFloat64);
  EXPECT_EQ(type_of(wide, "a"), DType::kFloat32);
  const Node& sum = wide.node(*wide.find_node("sum"));
  EXPECT_EQ(wide.type(sum.inputs[1]).dtype, DType::kFloat64);
  const Graph back = in_file_types(wide);
  EXPECT_NO_THROW(verify(back));
  EXPECT_EQ(type_of(back, "a"), DType::kFloat64);
}

TEST(FileTypes, Bfloat16IsWrittenFromTheOpsetOnThatHasTheOperator) {
  Graph graph = parse(R"(graph "g" opset 17 (%x : f32[1,4]) -> (%y) {
  %e = Elu(%x) : f32[1,4]
  %y = Exp(%e) : f32[1,4]
})");
  graph.file_types = {
      {"x", DType::kBfloat16}, {"e", DType::kBfloat16}, {"y", DType::kBfloat16}};
  EXPECT_EQ(type_of(in_file_types(graph), "e"), DType::kFloat32);
  EXPECT_EQ(type_of(in_file_types(graph), "y"), DType::kBfloat16);
  graph.opset = 22;
  EXPECT_EQ(type_of(in_file_types(graph), "e"), DType::kBfloat16);
}

TEST(FileTypes, OfATextAreFloatingTypes) {
  EXPECT_THROW((void)parse(R"(graph "g" opset 17 (%x : f32[1]) -> (%x) {
  filetype i8 [%x]
})"),
               Error);
}

TEST(FileTypes, ArePartOfTheTextAndOfEquality) {
  const Graph wide = in_float32(parse(kHalves));
  EXPECT_EQ(parse(print(wide)), wide);
  Graph other = wide;
  other.file_types.clear();
  EXPECT_FALSE(other == wide);
}

}  // namespace
}  // namespace tare::test
