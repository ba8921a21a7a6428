// If, Loop and Scan that stay: their graphs become graphs of their own, and a file again.
#include "graph/operators/inner_graphs.h"

#include "tare/execute.h"

#include "onnx/integer_evaluator.h"
#include "onnx/model_builder.h"

#include <algorithm>
#include <array>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A graph of nodes "result = Operator(operand, ...)" with these inputs and results.
onnx::GraphProto graph_proto(const std::vector<std::string>& inputs,
                             const std::vector<std::array<std::string, 4>>& nodes,
                             const std::vector<std::string>& outputs) {
  onnx::GraphProto graph;
  graph.set_name("inner");
  for (const std::string& name : inputs) {
    graph.add_input()->set_name(name);
  }
  for (const auto& [result, op, first, second] : nodes) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    node.add_input(first);
    if (!second.empty()) {
      node.add_input(second);
    }
    node.add_output(result);
  }
  for (const std::string& name : outputs) {
    graph.add_output()->set_name(name);
  }
  return graph;
}

void hold(onnx::NodeProto& node, const char* attribute, const onnx::GraphProto& graph) {
  auto& proto = *node.add_attribute();
  proto.set_name(attribute);
  proto.set_type(onnx::AttributeProto::GRAPH);
  *proto.mutable_g() = graph;
}

/// y of [N,4]: x, three times times k and squashed, and z: the same after each iteration.
ModelBuilder iterated(const onnx::GraphProto& body) {
  ModelBuilder model(16);
  model.input("x", {"N", 4})
      .input("c", {}, DType::kBool)
      .integers("three", {3})
      .constant("yes", Tensor::scalar(true))
      .constant("k", Tensor::of<float>({4}, {1, 2, 3, 4}))
      .node("Relu", {"x"}, {"r"})
      .node("Loop", {"three", "yes", "r"}, {"y", "z"});
  hold(model.last(), "body", body);
  model.output("y").output("z");
  return model;
}

onnx::GraphProto squashing() {
  return graph_proto({"i", "on", "s"},
                     {{{"p", "Mul", "s", "k"}},
                      {{"q", "Add", "p", "x"}},
                      {{"t", "Tanh", "q", ""}},
                      {{"still", "Identity", "on", ""}}},
                     {"still", "t", "t"});
}

const ReadOptions kTwo{.dims = {{"N", 2}}, .evaluate = evaluate_integers};

TEST(InnerGraphs, CaptureWhatTheyReadFromOutside) {
  const Graph graph = iterated(squashing()).read(kTwo);
  const Node& loop = only(graph, "Loop");
  const Graph body = inner_graph(loop, "body");
  EXPECT_EQ(own_operands(loop), 3U);
  EXPECT_EQ(captured_names(loop), (std::vector<std::string>{"x"})) << "k is small";
  EXPECT_EQ(operators(body), (std::vector<std::string>{"Mul", "Add", "Tanh", "Identity",
                                                       "Identity", "Identity", "Identity"}));
  EXPECT_EQ(graph.type(loop.outputs[0]).shape, (Shape{2, 4}));
  EXPECT_EQ(graph.type(loop.outputs[1]).shape, (Shape{3, 2, 4}));
}

/// All names of values in a file that some graph of it defines, each time it does.
void add_definitions(const onnx::GraphProto& graph, std::vector<std::string>& names) {
  for (const auto& input : graph.input()) {
    names.push_back(input.name());
  }
  for (const auto& tensor : graph.initializer()) {
    names.push_back(tensor.name());
  }
  for (const auto& node : graph.node()) {
    names.insert(names.end(), node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        add_definitions(attribute.g(), names);
      }
    }
  }
}

TEST(InnerGraphs, AreWrittenWithNamesThatAreUniqueInTheFile) {
  const Graph graph = iterated(squashing()).read(kTwo);
  const TemporaryFolder folder;
  write_onnx(graph, folder / "model.onnx");
  std::vector<std::string> names;
  add_definitions(load(folder / "model.onnx").graph(), names);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  const Graph again = read_onnx(folder / "model.onnx", kTwo);
  EXPECT_EQ(operators(again), operators(graph));
  const Node& before = only(graph, "Loop");
  const Node& after = only(again, "Loop");
  EXPECT_EQ(captured_names(after), captured_names(before));
  const auto unlike_copies = [](const Node& node) {
    std::vector<std::string> ops = operators(inner_graph(node, "body"));
    std::erase(ops, "Identity");
    return ops;
  };
  EXPECT_EQ(unlike_copies(after), unlike_copies(before));
}

TEST(InnerGraphs, OfLoopsNeedACountWhereTheyCollectResults) {
  ModelBuilder model = iterated(squashing());
  model.input("count", {}, DType::kInt64);
  model.graph().mutable_node(1)->set_input(0, "count");
  EXPECT_EQ(
      complaint(model, kTwo),
      "Loop: collects results of iterations whose number depends on data (node 'Loop_y')");
  ReadOptions known = kTwo;
  known.input_values["count"] = Tensor::scalar<std::int64_t>(6);
  EXPECT_EQ(shape_of(model.read(known), "z"), (Shape{6, 2, 4}));
}

/// Each iteration transposes its state, whose results are not collected.
ModelBuilder transposing() {
  ModelBuilder model = iterated(graph_proto(
      {"i", "on", "s"}, {{{"t", "Transpose", "s", ""}}, {{"still", "Identity", "on", ""}}},
      {"still", "t"}));
  model.graph().mutable_node(1)->mutable_output()->RemoveLast();
  model.graph().mutable_output()->RemoveLast();
  return model;
}

TEST(InnerGraphs, MayChangeTheShapeOfAStateInEachOfSoManyIterations) {
  const Graph graph = transposing().read({.dims = {{"N", 2}}, .evaluate = evaluate});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{4, 2}));
  const std::vector<std::string> all = operators(graph);
  EXPECT_EQ(std::count(all.begin(), all.end(), "Transpose"), 3);
}

TEST(InnerGraphs, MayNotChangeTheShapeOfAStateHoweverOften) {
  ModelBuilder model = transposing();
  model.input("count", {}, DType::kInt64);
  model.graph().mutable_node(1)->set_input(0, "count");
  EXPECT_EQ(complaint(model, kTwo),
            "Loop: an iteration makes f32[4,2] of a state that is f32[2,4] (node 'Loop_y')");
}

TEST(InnerGraphs, AreSearchedForWhatIsNotSupported) {
  EXPECT_EQ(complaint(iterated(graph_proto(
                          {"i", "on", "s"},
                          {{{"t", "Frobnicate", "s", ""}}, {{"still", "Identity", "on", ""}}},
                          {"still", "t", "t"})),
                      kTwo),
            "operator 'Frobnicate' is not supported (node 'Loop_y/t')");
}

TEST(InnerGraphs, OfAnIfGiveTheSameTypes) {
  ModelBuilder model(16);
  model.input("x", {2, 4}).input("c", {}, DType::kBool).node("If", {"c"}, {"y"});
  hold(model.last(), "then_branch", graph_proto({}, {{{"t", "Tanh", "x", ""}}}, {"t"}));
  hold(model.last(), "else_branch", graph_proto({}, {{{"t", "Neg", "x", ""}}}, {"t"}));
  model.output("y");
  const Graph graph = model.read();
  EXPECT_EQ(captured_names(only(graph, "If")), (std::vector<std::string>{"x"}));
  EXPECT_EQ(operators(inner_graph(only(graph, "If"), "else_branch"))[0], "Neg");

  onnx::NodeProto& node = *model.graph().mutable_node(0);
  *node.mutable_attribute(1)->mutable_g() =
      graph_proto({}, {{{"t", "Transpose", "x", ""}}}, {"t"});
  EXPECT_EQ(
      complaint(model),
      "If: its condition depends on data, and its branches give f32[2,4] or f32[4,2] (node "
      "'If_y')");
}

TEST(InnerGraphs, AreNotNeededWhereAnInputIsTheSameInAllSamples) {
  ModelBuilder model(16);
  model.input("x", {2, 4}).input("rate", {}, DType::kInt64).integers("wide", {16000});
  model.node("Equal", {"rate", "wide"}, {"is_wide"}).node("If", {"is_wide"}, {"y"});
  hold(model.last(), "then_branch", graph_proto({}, {{{"t", "Tanh", "x", ""}}}, {"t"}));
  hold(model.last(), "else_branch", graph_proto({}, {{{"t", "Neg", "x", ""}}}, {"t"}));
  model.output("y");
  ReadOptions options{.evaluate = evaluate_integers};
  const auto ops = [&](std::int64_t rate) {
    options.input_values["rate"] = Tensor::scalar(rate);
    std::vector<std::string> all = operators(model.read(options));
    std::erase(all, "Equal");
    return all;
  };
  EXPECT_EQ(ops(16000), (std::vector<std::string>{"Tanh", "Identity"}));
  EXPECT_EQ(ops(8000), (std::vector<std::string>{"Neg", "Identity"}));
}

}  // namespace
}  // namespace tare::test
