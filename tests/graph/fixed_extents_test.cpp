#include "graph/operators/fixed_extents.h"

#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Whether the value %y has a fixed extent along the axis.
bool is_fixed(const std::string& body, std::size_t axis) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[N=2,3,T=4], %z : f32[1,3,1]) -> (%y) {\n" + body + "\n}");
  return is_fixed_extent(graph, *graph.find_value("y"), axis);
}

TEST(FixedExtents, AreThoseOfInputsThatNameNoDimension) {
  const std::string relu = "%y = Relu(%x) : f32[2,3,4]";
  EXPECT_FALSE(is_fixed(relu, 0));
  EXPECT_TRUE(is_fixed(relu, 1));
  EXPECT_FALSE(is_fixed(relu, 2));
}

TEST(FixedExtents, AreNumbersInTargetsOfReshape) {
  const std::string reshape =
      "const %s : i64[3] = [0, -1, 2]\n%y = Reshape(%x, %s) : f32[2,6,2]";
  EXPECT_FALSE(is_fixed(reshape, 0));  // as the operand's
  EXPECT_FALSE(is_fixed(reshape, 1));
  EXPECT_TRUE(is_fixed(reshape, 2));
}

TEST(FixedExtents, MoveWithTranspose) {
  const std::string transpose = "%y = Transpose(%x) {perm=[1, 2, 0]} : f32[3,4,2]";
  EXPECT_TRUE(is_fixed(transpose, 0));
  EXPECT_FALSE(is_fixed(transpose, 1));
  EXPECT_FALSE(is_fixed(transpose, 2));
}

TEST(FixedExtents, AreGivenByAnyOperandThatIsNotRepeated) {
  const std::string sum = "%y = Add(%z, %x) : f32[2,3,4]";
  EXPECT_FALSE(is_fixed(sum, 0));  // of z it is 1
  EXPECT_TRUE(is_fixed(sum, 1));
  const std::string bias = "const %c : f32[4] = [1, 2, 3, 4]\n%y = Add(%x, %c) : f32[2,3,4]";
  EXPECT_TRUE(is_fixed(bias, 2));  // nothing else could be added
}

TEST(FixedExtents, AreColumnsOfWeights) {
  const std::string product =
      "const %w : f32[4,2] = [1, 2, 3, 4, 5, 6, 7, 8]\n%y = MatMul(%x, %w) : f32[2,3,2]";
  EXPECT_TRUE(is_fixed(product, 2));
  EXPECT_FALSE(is_fixed(product, 0));
}

TEST(FixedExtents, AreNotLookedForWithoutEnd) {
  std::string body = "%a0 = Add(%x, %x) : f32[2,3,4]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "%a" + std::to_string(i - 1);
    body += "%a" + std::to_string(i) + " = Add(" + before + ", " + before + ") : f32[2,3,4]\n";
  }
  EXPECT_FALSE(is_fixed(body + "%y = Relu(%a59) : f32[2,3,4]", 0));
}

}  // namespace
}  // namespace tare::test
