// Graphs inside of graphs that become part of these: the branch of an If whose condition is
// known once shapes are, and functions of the model.
#include "onnx/integer_evaluator.h"
#include "onnx/model_builder.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

onnx::NodeProto node_proto(const std::string& op, const std::vector<std::string>& inputs,
                           const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(op + "_inside");
  node.mutable_input()->Add(inputs.begin(), inputs.end());
  node.add_output(output);
  return node;
}

/// A branch of these nodes whose result is the last one's.
onnx::GraphProto branch(const std::vector<onnx::NodeProto>& nodes) {
  onnx::GraphProto graph;
  for (const onnx::NodeProto& node : nodes) {
    *graph.add_node() = node;
  }
  graph.add_output()->set_name(nodes.back().output(0));
  return graph;
}

onnx::NodeProto choice(const std::string& condition, const onnx::GraphProto& if_true,
                       const onnx::GraphProto& if_false, const std::string& output) {
  onnx::NodeProto node = node_proto("If", {condition}, output);
  const auto add = [&](const char* name, const onnx::GraphProto& graph) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = graph;
  };
  add("else_branch", if_false);
  add("then_branch", if_true);
  return node;
}

/// y = x of [N,3]: its Sigmoid where N is 4, otherwise its Tanh and Neg.
ModelBuilder by_batch() {
  ModelBuilder model(13);
  model.input("x", {"N", 3}).integers("first", {0}).integers("four", {4});
  model.node("Relu", {"x"}, {"r"})
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "first"}, {"batch"})
      .node("Equal", {"batch", "four"}, {"is_four"});
  *model.graph().add_node() =
      choice("is_four", branch({node_proto("Sigmoid", {"r"}, "inner")}),
             branch({node_proto("Tanh", {"r"}, "inner"), node_proto("Neg", {"inner"}, "end")}),
             "chosen");
  model.node("Abs", {"chosen"}, {"y"}).output("y");
  return model;
}

std::vector<std::string> operators_for(const ModelBuilder& model, std::int64_t batch) {
  std::vector<std::string> result =
      operators(model.read({.dims = {{"N", batch}}, .evaluate = evaluate_integers}));
  std::erase_if(result, [](const std::string& op) {
    return op == "Shape" || op == "Gather" || op == "Equal";
  });
  return result;
}

using Operators = std::vector<std::string>;

TEST(Branches, AreThoseThatKnownConditionsPick) {
  EXPECT_EQ(operators_for(by_batch(), 4), (Operators{"Relu", "Sigmoid", "Identity", "Abs"}));
  EXPECT_EQ(operators_for(by_batch(), 5),
            (Operators{"Relu", "Tanh", "Neg", "Identity", "Abs"}));
}

TEST(Branches, KeepNamesApartThatSeveralOfThemUse) {
  ModelBuilder model = by_batch();
  *model.graph().add_node() = choice(
      "is_four", branch({node_proto("Sqrt", {"y"}, "inner")}),
      branch({node_proto("Exp", {"y"}, "inner"), node_proto("Neg", {"inner"}, "r_2")}), "z");
  model.graph().clear_output();
  model.output("z");
  EXPECT_EQ(operators_for(model, 4),
            (Operators{"Relu", "Sigmoid", "Identity", "Abs", "Sqrt", "Identity"}));
  EXPECT_EQ(operators_for(model, 5),
            (Operators{"Relu", "Tanh", "Neg", "Identity", "Abs", "Exp", "Neg", "Identity"}));
}

TEST(Branches, MayHoldOthersThatReadWhatTheseDefine) {
  ModelBuilder model = by_batch();
  auto& outer = *model.graph().mutable_node(4);
  ASSERT_EQ(outer.op_type(), "If");
  const auto inner = choice("is_four", branch({node_proto("Cos", {"here"}, "deep")}),
                            branch({node_proto("Sin", {"here"}, "deep")}), "inner");
  for (auto& attribute : *outer.mutable_attribute()) {
    *attribute.mutable_g() = branch({node_proto("Exp", {"r"}, "here"), inner});
  }
  EXPECT_EQ(operators_for(model, 4),
            (Operators{"Relu", "Exp", "Cos", "Identity", "Identity", "Abs"}));
  EXPECT_EQ(operators_for(model, 1),
            (Operators{"Relu", "Exp", "Sin", "Identity", "Identity", "Abs"}));
}

TEST(Branches, MayReturnAConstantOrAValueFromOutside) {
  ModelBuilder model = by_batch();
  auto& choice_node = *model.graph().mutable_node(4);
  for (auto& attribute : *choice_node.mutable_attribute()) {
    onnx::GraphProto graph;
    if (attribute.name() == "then_branch") {
      graph.add_output()->set_name("r");
    } else {
      onnx::TensorProto& constant = *graph.add_initializer();
      constant.set_name("one");
      constant.set_data_type(onnx::TensorProto::FLOAT);
      constant.add_float_data(1);
      graph.add_output()->set_name("one");
    }
    *attribute.mutable_g() = graph;
  }
  EXPECT_EQ(operators_for(model, 4), (Operators{"Relu", "Identity", "Abs"}));
  const Graph graph = model.read({.dims = {{"N", 2}}, .evaluate = evaluate_integers});
  EXPECT_EQ(shape_of(graph, "y"), Shape{});
}

TEST(Branches, AreSortedAfterWhatTheyRead) {
  ModelBuilder model = by_batch();
  // The node that makes what both branches read comes last in the file.
  auto& nodes = *model.graph().mutable_node();
  nodes.SwapElements(0, nodes.size() - 1);
  EXPECT_EQ(operators_for(model, 4), (Operators{"Relu", "Sigmoid", "Identity", "Abs"}));
}

TEST(Branches, AreRefusedWhereTheirFormIsWrong) {
  const ReadOptions options{.dims = {{"N", 4}}, .evaluate = evaluate_integers};
  ModelBuilder unknown = by_batch();
  *unknown.graph().mutable_node(4)->mutable_attribute(1)->mutable_g() =
      branch({node_proto("Sigmoid", {"nowhere"}, "inner")});
  EXPECT_EQ(complaint(unknown, options), "node 'If_inside' (If): nothing produces 'nowhere'");

  ModelBuilder two = by_batch();
  two.graph().mutable_node(4)->mutable_attribute(1)->mutable_g()->add_output()->set_name("r");
  EXPECT_EQ(complaint(two, options),
            "node 'If_inside' (If): a branch has 0 inputs and 2 results, expected none and 1");

  ModelBuilder missing = by_batch();
  missing.graph().mutable_node(4)->mutable_attribute()->RemoveLast();
  EXPECT_EQ(complaint(missing, options), "node 'If_inside' (If): has no graph 'then_branch'");
}

/// here.Scaled(x) = LeakyRelu(x, alpha = slope), then `times` of it where the call gives any.
onnx::FunctionProto& add_scaled(ModelBuilder& model) {
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("here");
  function.set_name("Scaled");
  function.add_input("x");
  function.add_input("low");
  function.add_output("y");
  function.add_attribute("slope");
  onnx::NodeProto relu = node_proto("LeakyRelu", {"x"}, "inner");
  onnx::AttributeProto& alpha = *relu.add_attribute();
  alpha.set_name("alpha");
  alpha.set_ref_attr_name("slope");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  *function.add_node() = relu;
  *function.add_node() = node_proto("Clip", {"inner", "low"}, "y");
  return function;
}

ModelBuilder two_calls() {
  ModelBuilder model(13);
  model.input("x", {1, 4}).constant("zero", Tensor::scalar<float>(0));
  add_scaled(model);
  model.node("Scaled", {"x", "zero"}, {"a"}, {{"slope", 0.25F}});
  model.last().set_domain("here");
  model.node("Scaled", {"a"}, {"b"});
  model.last().set_domain("here");
  model.output("b");
  return model;
}

TEST(Functions, OfTheModelStandForTheirBodies) {
  const Graph graph = two_calls().read();
  EXPECT_EQ(operators(graph),
            (Operators{"LeakyRelu", "Clip", "Identity", "LeakyRelu", "Clip", "Identity"}));
  const std::vector<NodeId> order = graph.topological_order();
  // What the call does not give is absent.
  EXPECT_EQ(graph.node(order[0]).attributes.real("alpha"), 0.25F);
  EXPECT_FALSE(graph.node(order[3]).attributes.has("alpha"));
  EXPECT_EQ(graph.node(order[1]).inputs.size(), 2U);
  EXPECT_EQ(graph.node(order[4]).inputs.size(), 1U);
}

TEST(Functions, MayReplaceAnOperatorAndCallOthers) {
  ModelBuilder model = two_calls();
  onnx::FunctionProto& softplus = *model.proto().add_functions();
  softplus.set_name("Softplus");
  softplus.add_input("v");
  softplus.add_output("w");
  onnx::NodeProto call = node_proto("Scaled", {"v"}, "w");
  call.set_domain("here");
  *softplus.add_node() = call;
  model.node("Softplus", {"b"}, {"c"}).output("c");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph).size(), 10U);
  EXPECT_EQ(operators(graph)[6], "LeakyRelu");
}

TEST(Functions, OfAnotherOpsetAreReadInItsForm) {
  ModelBuilder model(17);
  model.input("x", {1, 4});
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("here");
  function.set_name("Rows");
  function.add_input("x");
  function.add_output("y");
  onnx::OperatorSetIdProto& opset = *function.add_opset_import();
  opset.set_version(11);
  onnx::NodeProto squeeze = node_proto("Squeeze", {"x"}, "y");
  onnx::AttributeProto& axes = *squeeze.add_attribute();
  axes.set_name("axes");
  axes.set_type(onnx::AttributeProto::INTS);
  axes.add_ints(0);
  *function.add_node() = squeeze;
  model.node("Rows", {"x"}, {"a"});
  model.last().set_domain("here");
  model.integers("first", {0}).node("Unsqueeze", {"a", "first"}, {"b"}).output("b");
  EXPECT_EQ(shape_of(model.read(), "a"), (Shape{4}));
  EXPECT_EQ(shape_of(model.read(), "b"), (Shape{1, 4}));
}

TEST(Functions, ThatCallThemselvesOrGrowBeyondMeasureAreRefused) {
  ModelBuilder again = two_calls();
  onnx::NodeProto call = node_proto("Scaled", {"y"}, "z");
  call.set_domain("here");
  *again.proto().mutable_functions(0)->add_node() = call;
  EXPECT_NE(complaint(again).find("its function calls itself"), std::string::npos);

  // Each calls the one before it four times.
  ModelBuilder laughs = two_calls();
  std::string before = "Scaled";
  for (int i = 0; i < 20; ++i) {
    onnx::FunctionProto& function = *laughs.proto().add_functions();
    function.set_domain("here");
    function.set_name("more" + std::to_string(i));
    function.add_input("x");
    function.add_output("y3");
    for (int k = 0; k < 4; ++k) {
      onnx::NodeProto inner = node_proto(before, {"x"}, "y" + std::to_string(k));
      inner.set_domain("here");
      *function.add_node() = inner;
    }
    before = function.name();
  }
  laughs.node(before, {"b"}, {"c"});
  laughs.last().set_domain("here");
  laughs.output("c");
  EXPECT_NE(complaint(laughs).find("come to more than"), std::string::npos);

  ModelBuilder many = two_calls();
  many.last().add_input("x");
  many.last().add_input("x");
  EXPECT_EQ(
      complaint(many),
      "node 'Scaled_b' (here.Scaled): has 3 operands and 1 results, expected at most 2 and "
      "1 as its function");
}

}  // namespace
}  // namespace tare::test
