#include "graph/ir/subgraph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Graph whole() {
  return parse(
      "graph \"g\" opset 17 (%x : f32[4], %unused : f32[4], %z : f32[4]) -> (%d) {\n"
      "const %c : f32[4] = [1, 2, 3, 4]\n"
      "%a = Relu(%x) : f32[4]\n"
      "%b = Add(%a, %c) : f32[4]\n"
      "%e = Mul(%b, %z) : f32[4]\n"
      "%d = Sub(%e, %a) : f32[4]\n"
      "}");
}

std::vector<ValueId> values(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<ValueId> result;
  for (const std::string& name : names) {
    result.push_back(*graph.find_value(name));
  }
  return result;
}

std::string text(Subgraph part, const Graph& graph, const std::vector<std::string>& results) {
  std::vector<ValueId> outputs;
  for (const ValueId value : values(graph, results)) {
    outputs.push_back(part.values.at(value));
  }
  part.graph.set_outputs(outputs);
  part.graph.graph_name = "part";
  return print(part.graph);
}

TEST(Subgraph, HoldsWhatComputesItsResultsAndNoMore) {
  const Graph graph = whole();
  const Subgraph part = subgraph(graph, {}, values(graph, {"b"}));
  EXPECT_EQ(part.inputs, values(graph, {"x"}));
  EXPECT_EQ(text(part, graph, {"b"}),
            print(parse("graph \"part\" opset 17 (%x : f32[4]) -> (%b) {\n"
                        "const %c : f32[4] = [1, 2, 3, 4]\n"
                        "%a = Relu(%x) : f32[4]\n"
                        "%b = Add(%a, %c) : f32[4]\n"
                        "}")));
}

TEST(Subgraph, StartsAtItsSourcesAfterTheInputsOfTheGraph) {
  const Graph graph = whole();
  const Subgraph part =
      subgraph(graph, values(graph, {"c", "e", "b", "a"}), values(graph, {"e", "d"}));
  EXPECT_EQ(part.inputs, values(graph, {"e", "a"})) << "e is a source, so nothing before it";
  EXPECT_EQ(text(part, graph, {"e", "d"}),
            print(parse("graph \"part\" opset 17 (%e : f32[4], %a : f32[4]) -> (%e, %d) {\n"
                        "%d = Sub(%e, %a) : f32[4]\n"
                        "}")));
  EXPECT_EQ(subgraph(graph, values(graph, {"b"}), values(graph, {"e"})).inputs,
            values(graph, {"z", "b"}));
}

}  // namespace
}  // namespace tare::test
