#include "graph/operators/rectified_sum.h"

#include "tare/execute.h"
#include "tare/graph.h"

#include "support/tensors.h"
#include "support/visible_part.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// %x and %z are layers' results; `body` says what becomes of them.
Graph network(const std::string& body, const std::string& outputs = "%y") {
  return parse(R"(graph "g" opset 17 (%in : f32[1,4]) -> ()" + outputs + R"() {
  const %w : f32[4,4] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  const %one : f32[] = [1]
  const %all : f32[1,4] = [1, 2, 3, 4]
  %x = MatMul(%in, %w) : f32[1,4]
  %z = MatMul(%in, %w) : f32[1,4]
)" + body + "}\n");
}

/// The name of what %x is added to.
std::string other_of_x(const Graph& graph) {
  const auto other = rectified_with(graph, *graph.find_value("x"));
  return other ? graph.name(*other) : "";
}

TEST(RectifiedSum, IsThatOfTwoOperandsInFrontOfARelu) {
  for (const std::string operands : {"(%x, %z)", "(%z, %x)"}) {
    const Graph graph =
        network("  %s = Add" + operands + " : f32[1,4]\n  %y = Relu(%s) : f32[1,4]\n");
    EXPECT_EQ(other_of_x(graph), "z");
    EXPECT_EQ(rectified_with(graph, *graph.find_value("z")), graph.find_value("x"));
  }
}

TEST(RectifiedSum, MayHaveConversionsInside) {
  EXPECT_EQ(other_of_x(network(R"(  %q = SimulatedQuantize(%x) : f32[1,4] @x
  %d = SimulatedDequantize(%q) : f32[1,4]
  %r = SimulatedQuantize(%z) : f32[1,4] @z
  %e = SimulatedDequantize(%r) : f32[1,4]
  %s = Add(%d, %e) : f32[1,4]
  %t = SimulatedQuantize(%s) : f32[1,4] @s
  %u = SimulatedDequantize(%t) : f32[1,4]
  %y = Relu(%u) : f32[1,4]
)")),
            "e");
}

TEST(RectifiedSum, IsNoneWhereMoreIsReadOrAnotherOperatorReadsIt) {
  const std::string sum = "  %s = Add(%x, %z) : f32[1,4]\n";
  const std::string relu = "  %y = Relu(%s) : f32[1,4]\n";
  EXPECT_EQ(other_of_x(network(sum + "  %y = Sigmoid(%s) : f32[1,4]\n")), "");
  EXPECT_EQ(other_of_x(network("  %s = Mul(%x, %z) : f32[1,4]\n" + relu)), "");
  EXPECT_EQ(other_of_x(network("  %s = Add(%x, %x) : f32[1,4]\n" + relu)), "");
  EXPECT_EQ(other_of_x(network(sum + relu, "%y, %x")), "");
  EXPECT_EQ(other_of_x(network(sum + relu, "%y, %s")), "");
  EXPECT_EQ(other_of_x(network(sum + relu + "  %v = Neg(%x) : f32[1,4]\n", "%y, %v")), "");
  EXPECT_EQ(other_of_x(network(sum + relu + "  %v = Neg(%s) : f32[1,4]\n", "%y, %v")), "");
}

TEST(RectifiedSum, IsNoneWithConstantsOrOtherShapes) {
  const std::string relu = "  %y = Relu(%s) : f32[1,4]\n";
  EXPECT_EQ(other_of_x(network("  %s = Add(%x, %one) : f32[1,4]\n" + relu)), "");
  EXPECT_EQ(other_of_x(network("  %s = Add(%x, %all) : f32[1,4]\n" + relu)), "");
  EXPECT_EQ(other_of_x(network(R"(  const %axes : i64[1] = [1]
  %m = ReduceSum(%z, %axes) {keepdims = 1} : f32[1,1]
  %s = Add(%x, %m) : f32[1,4]
)" + relu)),
            "");
}

TEST(RectifiedSum, ShowsNoMoreThanTheVisiblePart) {
  Graph graph = network("  %s = Add(%x, %z) : f32[1,4]\n  %y = Relu(%s) : f32[1,4]\n", "%x");
  const ValueId value = graph.add_input("value", graph.type(*graph.find_value("x")));
  const ValueId other = graph.add_input("other", graph.type(value));
  graph.set_outputs({add_visible_part(graph, value, add_hiding_bound(graph, other))});
  graph.erase_unused();
  verify(graph);
  const Executable executable(graph);
  for (unsigned seed = 1; seed < 50; ++seed) {
    const Tensor a = normal_tensor({1, 4}, seed, 0, 3);
    const Tensor b = normal_tensor({1, 4}, 100 + seed, 1, 3);
    const Tensor in = normal_tensor({1, 4}, 0);
    const Tensor visible = executable.run(std::vector<Tensor>{in, a, b})[0];
    EXPECT_EQ(visible, visible_part(a, b));
    for (std::size_t i = 0; i < 4; ++i) {
      const float shown = visible.view<float>()[i];
      EXPECT_GE(shown, a.view<float>()[i]);
      EXPECT_EQ(std::max(shown + b.view<float>()[i], 0.0F),
                std::max(a.view<float>()[i] + b.view<float>()[i], 0.0F));
    }
  }
}

}  // namespace
}  // namespace tare::test
