#include "lower/forms/normalizations_apart.h"

#include "tare/execute.h"
#include "tare/model_files.h"

#include "support/graphs.h"
#include "support/same_structure.h"

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

TEST(NormalizationsApart, ReadSumsBehindAReshapeForAnyExtents) {
  const Graph graph = transformer(kSum);
  const Graph apart = with_normalizations_apart(graph);
  EXPECT_EQ(count_of(apart, "Reshape"), 1U);
  const std::vector<Tensor> values{
      Tensor::of<float>({2, 2, 4}, {1, -2, 3, 4, 5, 0, 7, 8, -1, 2, 3, -4, 9, 6, 0.5F, 8})};
  EXPECT_EQ(Executable(apart).run(values), Executable(graph).run(values));
  EXPECT_EQ(structural_difference(graph, read_normalizations_apart(apart)), "");
  const std::vector<Shape> larger{{5, 7, 4}};
  const Graph other = with_input_shapes(apart, larger, {});
  EXPECT_EQ(other.type(other.outputs()[0]).shape, larger[0]);
}

TEST(NormalizationsApart, OfOtherValuesAreAsTheyWere) {
  const Graph graph = transformer(
      "%a = Mul(%x, %x) : f32[2,2,4]\n"
      "%y = LayerNormalization(%a, %s, %b) {axis = -1} : f32[2,2,4]");
  EXPECT_EQ(print(with_normalizations_apart(graph)), print(graph));
}

TEST(NormalizationsApart, KeepAReshapeThatChangesExtents) {
  const Graph graph = transformer(
      "const %e : i64[3] = [1, 4, 4]\n%a = Add(%x, %x) : f32[2,2,4]\n"
      "%r = Reshape(%a, %e) : f32[1,4,4]\n"
      "%y = LayerNormalization(%r, %s, %b) {axis = -1} : f32[1,4,4]");
  EXPECT_EQ(print(read_normalizations_apart(graph)), print(graph));
}

}  // namespace
}  // namespace tare::test
