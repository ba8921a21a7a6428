#include "graph/operators/activation_function.h"

#include "tare/graph.h"

#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A network in which %x is a layer's result; `body` says what becomes of it, and `outputs` are
/// its results.
Graph network(const std::string& body, const std::string& outputs = "%y") {
  return parse(R"(graph "g" opset 17 (%in : f32[1,4]) -> ()" + outputs + R"() {
  const %w : f32[4,4] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  const %one : f32[] = [1]
  const %half : f32[1] = [0.5]
  const %each : f32[4] = [1, 2, 3, 4]
  %x = MatMul(%in, %w) : f32[1,4]
)" + body + "}\n");
}

std::string function_of(const Graph& graph) {
  const ElementwiseFunction function = activation_function(graph, *graph.find_value("x"));
  std::string text;
  for (const NodeId id : function.operators) {
    text += (text.empty() ? "" : " ") + graph.node(id).op;
  }
  return text.empty() ? text : text + " to " + graph.name(function.result);
}

TEST(ActivationFunction, IsAnOperatorThatAloneReadsTheValue) {
  for (const std::string op : {"Sigmoid", "HardSwish", "Tanh", "LeakyRelu", "Relu"}) {
    const Graph graph =
        network("  %a = " + op + "(%x) : f32[1,4]\n" + "  %y = MatMul(%a, %w) : f32[1,4]\n");
    EXPECT_EQ(function_of(graph), op + " to a");
  }
}

TEST(ActivationFunction, MayBeSpelledWithSeveral) {
  EXPECT_EQ(function_of(network(R"(  %s = Sigmoid(%x) : f32[1,4]
  %a = Mul(%s, %x) : f32[1,4]
  %y = MatMul(%a, %w) : f32[1,4]
)")),
            "Sigmoid Mul to a");
  EXPECT_EQ(function_of(network(R"(  %d = Div(%x, %one) : f32[1,4]
  %e = Erf(%d) : f32[1,4]
  %p = Add(%e, %one) : f32[1,4]
  %m = Mul(%x, %p) : f32[1,4]
  %a = Mul(%m, %half) : f32[1,4]
  %y = MatMul(%a, %w) : f32[1,4]
)")),
            "Div Erf Add Mul Mul to a");
}

TEST(ActivationFunction, MayComputeAResultOfTheNetwork) {
  EXPECT_EQ(function_of(network("  %y = Sigmoid(%x) : f32[1,4]\n")), "Sigmoid to y");
  // What a result is read for as well does not matter.
  EXPECT_EQ(function_of(network(R"(  %a = Sigmoid(%x) : f32[1,4]
  %y = Mul(%a, %half) : f32[1,4]
)",
                                "%a, %y")),
            "Sigmoid to a");
}

TEST(ActivationFunction, IsNoneWhereSomethingElseReadsTheValue) {
  EXPECT_EQ(function_of(network(R"(  %a = Sigmoid(%x) : f32[1,4]
  %b = MatMul(%x, %w) : f32[1,4]
  %y = Mul(%a, %b) : f32[1,4]
)")),
            "");
  EXPECT_EQ(function_of(network("  %y = Sigmoid(%x) : f32[1,4]\n", "%x, %y")), "");
}

TEST(ActivationFunction, IsNoneOfArithmeticAlone) {
  EXPECT_EQ(function_of(network(R"(  %a = Mul(%x, %half) : f32[1,4]
  %y = MatMul(%a, %w) : f32[1,4]
)")),
            "");
}

TEST(ActivationFunction, IsNoneWhereElementsDiffer) {
  // By channel, by another value, and by what is not elementwise.
  EXPECT_EQ(function_of(network(R"(  %a = Mul(%x, %each) : f32[1,4]
  %y = Sigmoid(%a) : f32[1,4]
)")),
            "");
  EXPECT_EQ(function_of(network(R"(  %a = Add(%x, %in) : f32[1,4]
  %y = Sigmoid(%a) : f32[1,4]
)")),
            "");
  EXPECT_EQ(function_of(network("  %y = Softmax(%x) {axis=-1} : f32[1,4]\n")), "");
}

TEST(ActivationFunction, EndsWhereOnlyPartOfItIsRead) {
  // Two readers of the value lead to results that are read apart.
  EXPECT_EQ(function_of(network(R"(  %a = Sigmoid(%x) : f32[1,4]
  %b = Tanh(%x) : f32[1,4]
  %c = MatMul(%a, %w) : f32[1,4]
  %y = Mul(%c, %b) : f32[1,4]
)")),
            "");
}

TEST(ActivationFunction, LooksAtNoMoreThanAFewReaders) {
  std::string body;
  std::string sum = "%s0";
  for (int i = 0; i < 40; ++i) {
    body += "  %s" + std::to_string(i) + " = Sigmoid(%x) : f32[1,4]\n";
  }
  for (int i = 1; i < 40; ++i) {
    const std::string next = i == 39 ? "%y" : "%t" + std::to_string(i);
    body += "  " + next + " = Add(" + sum + ", %s" + std::to_string(i) + ") : f32[1,4]\n";
    sum = next;
  }
  EXPECT_EQ(function_of(network(body)), "");
}

}  // namespace
}  // namespace tare::test
