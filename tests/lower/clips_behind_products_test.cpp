#include "lower/forms/clips_behind_products.h"

#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "support/graphs.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A product of quantized operands, and what is made of its result.
Graph product_and(const std::string& body, const std::string& type = "f32[1,2]") {
  return parse("graph \"g\" opset 17 (%x : " + type +
               ") -> (%y) {\n"
               "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\n"
               "const %w : i8[2,2] = [1, -2, 3, 4]\nconst %t : f32[] = [0.25]\n"
               "const %m : i8[] = [0]\nconst %low : f32[] = [-1]\nconst %high : f32[] = [6]\n"
               "const %f : f32[2,2] = [1, 0.5, -1, 2]\n"
               "%q = QuantizeLinear(%x, %s, %z) : u8[1,2]\n"
               "%d = DequantizeLinear(%q, %s, %z) : f32[1,2]\n"
               "%v = DequantizeLinear(%w, %t, %m) : f32[2,2]\n" +
               body + "\n}");
}

/// Both files compute the same, and no operator that ONNX Runtime stumbles over is left.
void expect_apart(const Graph& graph) {
  const Graph apart = with_clips_behind_products(graph);
  EXPECT_EQ(count_of(apart, "Relu") + count_of(apart, "Clip"), 0U) << print(apart);
  EXPECT_TRUE(apart.find_value("r").has_value());
  for (const float x : {-8.F, -0.5F, 0.F, 2.F, 9.F}) {
    const std::vector<Tensor> values{Tensor::of<float>({1, 2}, {x, 1.5F})};
    EXPECT_EQ(Executable(apart).run(values), Executable(graph).run(values)) << x;
  }
}

void expect_unchanged(const Graph& graph) {
  EXPECT_EQ(print(with_clips_behind_products(graph)), print(graph));
}

TEST(ClipsBehindProducts, AreMaximaAndMinimaWhereTheyAreReadInFloat) {
  for (const char* clip : {"Relu(%p)", "Clip(%p, %low, %high)", "Clip(%p, %low)"}) {
    for (const char* product : {"Gemm(%d, %v)", "MatMul(%d, %v)"}) {
      expect_apart(product_and("%p = " + std::string(product) + " : f32[1,2]\n%r = " + clip +
                               " : f32[1,2]\n%y = MatMul(%r, %f) : f32[1,2]"));
    }
  }
}

TEST(ClipsBehindProducts, StayWhereAQuantizeLinearHasTheirEffect) {
  expect_unchanged(
      product_and("%p = Gemm(%d, %v) : f32[1,2]\n%r = Relu(%p) : f32[1,2]\n"
                  "%o = QuantizeLinear(%r, %s, %z) : u8[1,2]\n"
                  "%y = DequantizeLinear(%o, %s, %z) : f32[1,2]"));
}

TEST(ClipsBehindProducts, StayBehindProductsInFloat) {
  expect_unchanged(
      product_and("%p = Gemm(%d, %f) : f32[1,2]\n%r = Relu(%p) : f32[1,2]\n"
                  "%y = MatMul(%r, %f) : f32[1,2]"));
}

TEST(ClipsBehindProducts, StayWhereTheProductHasAnotherReader) {
  expect_unchanged(
      product_and("%p = Gemm(%d, %v) : f32[1,2]\n%r = Relu(%p) : f32[1,2]\n"
                  "%y = Add(%r, %p) : f32[1,2]"));
}

}  // namespace
}  // namespace tare::test
