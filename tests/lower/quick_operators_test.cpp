#include "lower/forms/quick_operators.h"

#include "tare/execute.h"

#include "support/graphs.h"
#include "support/same_structure.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A mean of that many elements of 64 channels each.
Graph mean(const std::string& input, const std::string& attributes, const std::string& result,
           const std::string& before = "") {
  const std::string x = before.empty() ? "%x" : "%r";
  return parse("graph \"g\" opset 17 (%x : " + input + ") -> (%y) {\n" + before +
               "%y = ReduceMean(" + x + ") {" + attributes + "} : " + result + "\n}");
}

std::vector<float> results(const Graph& graph) {
  std::vector<float> values(100 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i));
  }
  const Tensor x = Tensor::of(graph.type(graph.inputs()[0]).shape, values);
  return Executable(graph).run(std::vector{x}).at(0).to_float();
}

void expect_spelled(const Graph& graph) {
  const Graph spelled = with_quick_operators(graph);
  EXPECT_EQ(count_of(spelled, "ReduceMean"), 0U);
  EXPECT_EQ(count_of(spelled, "MatMul"), 1U);
  const std::vector<float> wanted = results(graph);
  const std::vector<float> got = results(spelled);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Sums of 100 numbers of at most 1, in another order.
    EXPECT_NEAR(got[i], wanted[i], 100 * 0x1p-24F);
  }
  EXPECT_EQ(structural_difference(graph, read_quick_operators(spelled)), "");
}

TEST(QuickOperators, AreProductsForMeansOverTheLastAxisButOne) {
  expect_spelled(mean("f32[1,100,64]", "axes = [1], keepdims = 1", "f32[1,1,64]"));
  expect_spelled(mean("f32[100,64]", "axes = [0], keepdims = 1", "f32[1,64]"));
}

TEST(QuickOperators, GiveTheirAxisUpWhereTheMeanDid) {
  expect_spelled(mean("f32[2,50,64]", "axes = [1], keepdims = 0", "f32[2,64]"));
}

TEST(QuickOperators, LeaveOtherAxesFewElementsAndOpenLengthsAlone) {
  for (const Graph& graph :
       {mean("f32[1,100,64]", "axes = [2], keepdims = 1", "f32[1,100,1]"),
        mean("f32[4,25,64]", "axes = [0, 1], keepdims = 1", "f32[1,1,64]"),
        mean("f32[1,10,64]", "axes = [1], keepdims = 1", "f32[1,1,64]"),
        mean("f32[1,length=100,64]", "axes = [1], keepdims = 1", "f32[1,1,64]")}) {
    EXPECT_EQ(print(with_quick_operators(graph)), print(graph));
  }
}

TEST(QuickOperators, KnowLengthsThatAreFixedBehindOpenOnes) {
  expect_spelled(
      mean("f32[N=1,6400]", "axes = [1], keepdims = 1", "f32[1,1,64]",
           "const %s : i64[3] = [-1, 100, 64]\n%r = Reshape(%x, %s) : f32[1,100,64]\n"));
}

TEST(QuickOperators, AreProductsForSquares) {
  const auto power = [](const std::string& exponent, const std::string& shape) {
    return parse("graph \"g\" opset 17 (%x : f32" + shape +
                 ") -> (%y) {\nconst %e : f32[] = [" + exponent + "]\n%y = Pow(%x, %e) : f32" +
                 shape + "\n}");
  };
  const Graph square = power("2", "[100,64]");
  const Graph spelled = with_quick_operators(square);
  EXPECT_EQ(count_of(spelled, "Pow"), 0U);
  EXPECT_EQ(results(spelled), results(square));
  for (const Graph& graph : {power("3", "[100,64]"), power("2", "[1,12]")}) {
    EXPECT_EQ(print(with_quick_operators(graph)), print(graph));
  }
}

TEST(QuickOperators, AreReshapesForMatrices) {
  const auto flatten = [](const std::string& axis, const std::string& result) {
    return parse(
        "graph \"g\" opset 17 (%x : f32[2,50,64]) -> (%y) {\n%y = Flatten(%x) {axis = " + axis +
        "} : " + result + "\n}");
  };
  const Graph matrix = flatten("1", "f32[2,3200]");
  const Graph spelled = with_quick_operators(matrix);
  EXPECT_EQ(count_of(spelled, "Flatten"), 0U);
  EXPECT_EQ(results(spelled), results(matrix));
  EXPECT_EQ(structural_difference(matrix, read_quick_operators(spelled)), "");
  const Graph other = flatten("2", "f32[100,64]");
  EXPECT_EQ(print(with_quick_operators(other)), print(other));
}

}  // namespace
}  // namespace tare::test
