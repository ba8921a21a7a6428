#include "lower/forms/unfused_operators.h"

#include "tare/execute.h"
#include "tare/model_files.h"

#include "support/graphs.h"
#include "support/same_structure.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Graph transformer(const std::string& body) {
  return parse(
      "graph \"g\" opset 17 (%x : f32[N=2,2,4]) -> (%y) {\n"
      "const %s : f32[4] = [1, 2, 3, 4]\nconst %b : f32[4] = [0, 1, 0, 1]\n" +
      body + "\n}");
}

const char* const kSum =
    "%a = Add(%x, %x) : f32[2,2,4]\n"
    "%l = LayerNormalization(%a, %s, %b) {axis = -1} : f32[2,2,4]\n"
    "%y = Add(%l, %a) : f32[2,2,4]";

TEST(UnfusedOperators, PutAReshapeBetweenASumAndItsNormalizationForAnyExtents) {
  const Graph graph = transformer(kSum);
  const Graph unfused = with_unfused_operators(graph);
  EXPECT_EQ(count_of(unfused, "Reshape"), 1U);
  const std::vector<Tensor> values{
      Tensor::of<float>({2, 2, 4}, {1, -2, 3, 4, 5, 0, 7, 8, -1, 2, 3, -4, 9, 6, 0.5F, 8})};
  EXPECT_EQ(Executable(unfused).run(values), Executable(graph).run(values));
  EXPECT_EQ(structural_difference(graph, read_unfused_operators(unfused)), "");
  const std::vector<Shape> larger{{5, 7, 4}};
  const Graph other = with_input_shapes(unfused, larger, {});
  EXPECT_EQ(other.type(other.outputs()[0]).shape, larger[0]);
}

TEST(UnfusedOperators, LeaveNormalizationsOfOtherValues) {
  const Graph graph = transformer(
      "%a = Mul(%x, %x) : f32[2,2,4]\n"
      "%y = LayerNormalization(%a, %s, %b) {axis = -1} : f32[2,2,4]");
  EXPECT_EQ(print(with_unfused_operators(graph)), print(graph));
}

TEST(UnfusedOperators, KeepAReshapeThatChangesExtents) {
  const Graph graph = transformer(
      "const %e : i64[3] = [1, 4, 4]\n%a = Add(%x, %x) : f32[2,2,4]\n"
      "%r = Reshape(%a, %e) : f32[1,4,4]\n"
      "%y = LayerNormalization(%r, %s, %b) {axis = -1} : f32[1,4,4]");
  EXPECT_EQ(print(read_unfused_operators(graph)), print(graph));
}

/// A MatMul of integers, or one of them, and its bias.
Graph product(const std::string& x, const std::string& w, const std::string& b) {
  return parse(
      "graph \"g\" opset 17 (%i : u8[N=2,2,4], %f : f32[N=2,2,4]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %o : i8[] = [0]\n"
      "const %q : i8[4,2] = [1, -2, 3, 4, 5, 6, -7, 8]\n"
      "const %v : f32[4,2] = [1, -2, 3, 4, 5, 6, -7, 8]\nconst %c : f32[2] = [1, 2]\n"
      "%x = DequantizeLinear(%i, %s, %z) : f32[2,2,4]\n"
      "%w = DequantizeLinear(%q, %s, %o) : f32[4,2]\n"
      "%p = MatMul(" +
      x + ", " + w + ") : f32[2,2,2]\n%y = Add(%p, " + b + ") : f32[2,2,2]\n}");
}

TEST(UnfusedOperators, PutAReshapeBetweenAProductOfIntegersAndItsBias) {
  const Graph graph = product("%x", "%w", "%c");
  const Graph unfused = with_unfused_operators(graph);
  EXPECT_EQ(count_of(unfused, "Reshape"), 1U);
  std::vector<std::uint8_t> integers(16);
  std::iota(integers.begin(), integers.end(), std::uint8_t{0});
  const std::vector<Tensor> values{Tensor::of<std::uint8_t>({2, 2, 4}, integers),
                                   Tensor(DType::kFloat32, {2, 2, 4})};
  EXPECT_EQ(Executable(unfused).run(values), Executable(graph).run(values));
  EXPECT_EQ(structural_difference(graph, read_unfused_operators(unfused)), "");
}

TEST(UnfusedOperators, LeaveProductsOfRealValuesAndOtherSums) {
  for (const Graph& graph :
       {product("%f", "%w", "%c"), product("%x", "%v", "%c"), product("%x", "%w", "%p")}) {
    EXPECT_EQ(print(with_unfused_operators(graph)), print(graph));
  }
}

}  // namespace
}  // namespace tare::test
