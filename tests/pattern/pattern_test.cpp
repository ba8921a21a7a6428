#include "tare/pattern.h"

#include "tare/error.h"
#include "tare/graph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Graph residual() {
  return parse(R"(graph "residual" opset 17 (%x : f32[1,2]) -> (%y) {
    const %three : f32[1] = [3]
    const %weights : f32[2,2] = [1, 0, 0, 1]
    %product = MatMul(%x, %weights) : f32[1,2]
    %sum = Add(%three, %product) : f32[1,2]
    %twice = Mul(%sum, %sum) : f32[1,2]
    %bounded = Clip(%twice, _, %three) : f32[1,2]
    %y = Concat(%bounded, %x) {axis=1} : f32[1,4]
  })");
}

std::optional<Match> match_at(const Graph& graph, const Pattern& pattern, const char* node,
                              std::string* why = nullptr) {
  return pattern.match(graph, *graph.find_node(node), why);
}

TEST(Pattern, CapturesNodesAndValues) {
  const Graph graph = residual();
  const auto match =
      match_at(graph, op("Add").with(constant().as("bias"), op("MatMul").as("product")), "sum");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->root(), graph.find_node("sum"));
  EXPECT_EQ(match->value("bias"), graph.find_value("three"));
  EXPECT_EQ(match->node("product"), graph.find_node("product"));
  EXPECT_EQ(match->nodes(),
            (std::vector{*graph.find_node("sum"), *graph.find_node("product")}));
  EXPECT_FALSE(match->has("scale"));
  EXPECT_THROW((void)match->value("scale"), Error);
  EXPECT_THROW((void)match->node("bias"), Error);
}

TEST(Pattern, TriesBothOrdersOnlyWhenAsked) {
  const Graph graph = residual();
  EXPECT_FALSE(match_at(graph, op("Add").with(op("MatMul"), constant()), "sum"));
  EXPECT_TRUE(match_at(graph, op("Add").with_any_order(op("MatMul"), constant()), "sum"));
}

TEST(Pattern, GoesBackOnAChoiceThatALaterPartContradicts) {
  // The left Add fits in both orders; only the right one shows that x has to be the second.
  const Graph graph = residual();
  const Pattern diamond = op("Mul").with(op("Add").with_any_order(any().as("x"), any()),
                                         op("Add").with(any(), any().as("x")));
  const auto match = match_at(graph, diamond, "twice");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->value("x"), graph.find_value("product"));
}

TEST(Pattern, BindsANameToOneValue) {
  const Graph graph = residual();
  EXPECT_TRUE(match_at(graph, op("Mul").with(any().as("x"), any().as("x")), "twice"));
  std::string why;
  EXPECT_FALSE(match_at(graph, op("Add").with(any().as("x"), any().as("x")), "sum", &why));
  EXPECT_EQ(why, "operand 1 of Add 'sum' is not 'three', captured as x");
}

TEST(Pattern, TakesTheFirstAlternativeThatFits) {
  const Graph graph = residual();
  const Pattern either =
      op("Add").with(any().as("first"), any()) | op("Add").with(any(), any().as("second"));
  const auto match = match_at(graph, either, "sum");
  ASSERT_TRUE(match);
  EXPECT_TRUE(match->has("first"));
  EXPECT_FALSE(match->has("second"));
  EXPECT_EQ(either.root_ops(), (std::vector<std::string>{"Add", "Add"}));
  EXPECT_TRUE((op("Add") | any()).root_ops().empty());
}

TEST(Pattern, LetsOptionalOperandsBeAbsent) {
  const Graph graph = residual();
  const Pattern clip =
      op("Clip").with(any(), optional(constant()).as("low"), optional(constant()).as("high"));
  const auto match = match_at(graph, clip, "bounded");
  ASSERT_TRUE(match);
  EXPECT_FALSE(match->has("low"));
  EXPECT_TRUE(match->has("high"));
  std::string why;
  EXPECT_FALSE(
      match_at(graph, op("Clip").with(any(), constant(), constant()), "bounded", &why));
  EXPECT_EQ(why, "operand 1 of Clip 'bounded' is absent");
}

TEST(Pattern, RefusesOperandsThatAreNotListed) {
  const Graph graph = residual();
  std::string why;
  EXPECT_FALSE(match_at(graph, op("Add").with(any()), "sum", &why));
  EXPECT_EQ(why, "operand 1 of Add 'sum' is present");
  EXPECT_TRUE(match_at(graph, op("Add").with(any()).with_more(), "sum"));
  EXPECT_TRUE(match_at(graph, op("Add"), "sum"));
}

TEST(Pattern, CountsReadersAndOutputs) {
  const Graph graph = residual();
  std::string why;
  EXPECT_FALSE(match_at(graph, op("Mul").with(op("Add").single_use(), any()), "twice", &why));
  EXPECT_EQ(why, "operand 0 of Mul 'twice' is read 2 times");
  EXPECT_TRUE(match_at(graph, op("Add").with(any(), op("MatMul").single_use()), "sum"));
  EXPECT_FALSE(match_at(graph, op("Concat").single_use(), "y", &why));
  EXPECT_EQ(why, "'y' is a graph output");
}

TEST(Pattern, ComparesAttributes) {
  const Graph graph = residual();
  EXPECT_TRUE(match_at(graph, op("Concat").attribute("axis", std::int64_t{1}), "y"));
  EXPECT_FALSE(match_at(graph, op("Concat").attribute("axis", std::int64_t{0}, true), "y"));
  EXPECT_TRUE(match_at(graph, op("Add").attribute("axis", std::int64_t{0}, true), "sum"));
  EXPECT_FALSE(match_at(graph, op("Add").attribute("axis", std::int64_t{0}), "sum"));
}

TEST(Pattern, AsksPredicates) {
  const Graph graph = residual();
  const auto wide = [](const Graph& g, const Node& node) {
    return g.type(node.outputs[0]).shape[1] == 4;
  };
  EXPECT_TRUE(match_at(graph, op("Concat").where(wide), "y"));
  std::string why;
  EXPECT_FALSE(match_at(graph, op("Add").where(wide, "has 4 columns"), "sum", &why));
  EXPECT_EQ(why, "Add 'sum' does not meet: has 4 columns");
  EXPECT_TRUE(match_at(graph, op("Add").with_any_order(any(), scalar(3)), "sum"));
  EXPECT_FALSE(match_at(graph, op("Add").with_any_order(any(), scalar(2.5)), "sum"));
  EXPECT_TRUE(match_at(graph, op("Add").with_any_order(any(), scalar(2.5, 0.5)), "sum"));
}

TEST(Pattern, ExplainsThePartThatFailedAfterMostOthersMatched) {
  const Graph graph = residual();
  std::string why;
  EXPECT_FALSE(match_at(graph,
                        op("Mul").with(op("Add").with_any_order(constant(), op("Conv")), any()),
                        "twice", &why));
  EXPECT_EQ(why, "operand 1 of Add 'sum' is computed by MatMul 'product'");
  EXPECT_FALSE(match_at(graph, op("Add").with(constant(), constant()), "sum", &why));
  EXPECT_EQ(why, "operand 1 of Add 'sum' is not a constant");
  EXPECT_TRUE(match_at(graph, op("Add"), "sum", &why));
  EXPECT_EQ(why, "");
}

TEST(Pattern, MeansTheFirstResultOfANode) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[4]) -> (%y) {
    %a, %b = Split(%x) {axis=0} : f32[2], f32[2]
    %y = Sub(%b, %a) : f32[2]
  })");
  std::string why;
  EXPECT_FALSE(match_at(graph, op("Sub").with(op("Split"), any()), "y", &why));
  EXPECT_EQ(why, "operand 0 of Sub 'y' is not the first result of Split 'a'");
  EXPECT_TRUE(match_at(graph, op("Sub").with(any(), op("Split")), "y"));
}

}  // namespace
}  // namespace tare::test
