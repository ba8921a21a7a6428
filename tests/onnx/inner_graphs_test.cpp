// If, Loop and Scan that stay: their graphs become graphs of their own, and a file again.
#include "graph/operators/inner_graphs.h"

#include "tare/execute.h"

#include "onnx/integer_evaluator.h"
#include "onnx/model_builder.h"
#include "support/graphs.h"

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
  EXPECT_EQ(operators(body),
            (std::vector<std::string>{"Mul", "Add", "Tanh", "Identity", "Identity"}))
      << "a result that is listed twice is copied";
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
  EXPECT_EQ(operators(inner_graph(after, "body")), operators(inner_graph(before, "body")));
}

/// All names of values in the file that the graph becomes, each time one is defined.
std::vector<std::string> definitions_of(const Graph& graph) {
  const TemporaryFolder folder;
  write_onnx(graph, folder / "model.onnx");
  std::vector<std::string> names;
  add_definitions(load(folder / "model.onnx").graph(), names);
  return names;
}

TEST(InnerGraphs, OfInnerGraphsHaveNamesThatAreUniqueInTheFile) {
  Graph body;
  const ValueId iteration = body.add_input("i", typed(DType::kInt64, {}));
  const ValueId condition = body.add_input("on", typed(DType::kBool, {}));
  const ValueId state = body.add_input("t", f32({2}));
  const ValueId around = body.add_input("a_1", f32({2}));
  const ValueId sum = add(body, "Add", {state, around}, {2});
  body.rename(sum, "a");
  const NodeId still = body.add_node("on_still", "Identity", {condition},
                                     {{"on_still", typed(DType::kBool, {})}});
  body.set_outputs({body.node(still).outputs[0], sum});
  (void)iteration;

  Graph branch;
  const ValueId x = branch.add_input("x", f32({2}));
  const ValueId a = add(branch, "Relu", {x}, {2});
  branch.rename(a, "a");
  const ValueId other = add(branch, "Tanh", {a}, {2});
  branch.rename(other, "a_1");
  const ValueId count = branch.add_constant("count", Tensor::scalar<std::int64_t>(3));
  branch.set_outputs(
      {add(branch, "Loop", {count, {}, other, other}, {2},
           {{"captured", std::vector<std::string>{"a_1"}}, {"body", print(body)}})});

  Graph graph;
  const ValueId input = graph.add_input("x", f32({2}));
  const ValueId c = graph.add_input("c", typed(DType::kBool, {}));
  const ValueId taken = add(graph, "Neg", {input}, {2});
  graph.rename(taken, "a");
  const ValueId chosen = add(graph, "If", {c, taken}, {2},
                             {{"captured", std::vector<std::string>{"x"}},
                              {"then_branch", print(branch)},
                              {"else_branch", print(branch)}});
  graph.set_outputs({chosen});

  std::vector<std::string> names = definitions_of(graph);
  const std::size_t all = names.size();
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(names.size(), all);

  const TemporaryFolder folder;
  write_onnx(graph, folder / "model.onnx");
  const Graph again = load_model(folder / "model.onnx", {}, nullptr);
  const std::vector<Tensor> inputs{Tensor::of<float>({2}, {-1, 2}), Tensor::scalar(true)};
  EXPECT_EQ(Executable(again).run(inputs), Executable(graph).run(inputs));
}

/// The first graph in an attribute of a node of the graph.
const onnx::GraphProto& graph_in(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        return attribute.g();
      }
    }
  }
  throw std::logic_error("has no inner graph");
}

TEST(InnerGraphs, OfInnerGraphsLeaveOpenWhatTheModelDoes) {
  Graph innermost;
  innermost.set_outputs(
      {add(innermost, "Tanh", {innermost.add_input("x", f32({3, 2}))}, {3, 2})});
  Graph inner;
  const ValueId x = inner.add_input("x", f32({3, 2}));
  const ValueId c = inner.add_input("c", typed(DType::kBool, {}));
  inner.set_outputs({add(inner, "If", {c, x}, {3, 2},
                         {{"captured", std::vector<std::string>{"x"}},
                          {"then_branch", print(innermost)},
                          {"else_branch", print(innermost)}})});
  Graph graph;
  const ValueId given = graph.add_input("x", f32({3, 2}));
  const ValueId condition = graph.add_input("c", typed(DType::kBool, {}));
  graph.set_outputs({add(graph, "If", {condition, given, condition}, {3, 2},
                         {{"captured", std::vector<std::string>{"x", "c"}},
                          {"then_branch", print(inner)},
                          {"else_branch", print(inner)}})});
  graph.dimension_names["x"] = {"N", ""};
  const TemporaryFolder folder;
  write_onnx(graph, folder / "model.onnx");
  const onnx::ModelProto model = load(folder / "model.onnx");
  const onnx::GraphProto& deepest = graph_in(graph_in(model.graph()));
  const auto& shape = deepest.output(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 2);
  EXPECT_FALSE(shape.dim(0).has_dim_value());
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
