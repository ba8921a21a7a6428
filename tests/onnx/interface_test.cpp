
#include "onnx/integer_evaluator.h"
#include "onnx/model_builder.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Names = std::vector<std::string>;

ModelBuilder identity(const Dims& dims) {
  ModelBuilder model(13);
  model.input("x", dims).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

TEST(Dimensions, AnUnboundBatchIsOneAndKeepsItsName) {
  const Graph graph = identity({"N", 3}).read();
  EXPECT_EQ(shape_of(graph, "x"), (Shape{1, 3}));
  EXPECT_EQ(graph.dimension_names.at("x"), (Names{"N", ""}));
}

TEST(Dimensions, AreBoundByNameOrBySamples) {
  const auto model = identity({"N", "length", 8});
  EXPECT_EQ(shape_of(model.read({.dims = {{"N", 4}, {"length", 5}}}), "y"), (Shape{4, 5, 8}));
  EXPECT_EQ(shape_of(model.read({.input_shapes = {{"x", {6, 8}}}}), "y"), (Shape{1, 6, 8}));
}

TEST(Dimensions, ASymbolBoundByOneInputHoldsForTheOthers) {
  ModelBuilder model(13);
  model.input("a", {"N", "length"})
      .input("b", {"N", "length"})
      .node("Add", {"a", "b"}, {"y"})
      .output("y");
  EXPECT_EQ(shape_of(model.read({.input_shapes = {{"a", {7}}}}), "b"), (Shape{1, 7}));
  EXPECT_EQ(complaint(model, {.input_shapes = {{"a", {7}}, {"b", {8}}}}),
            "input 'b': dimension 'length' is 8 in its samples, expected 7 as elsewhere");
}

TEST(Dimensions, AllThatStayDynamicAreNamed) {
  ModelBuilder model(13);
  model.input("a", {"N", "length", -1})
      .input("b", {"N", "width"})
      .node("Relu", {"a"}, {"y"})
      .output("y");
  EXPECT_EQ(complaint(model),
            "input 'a': dimension 1 ('length') is dynamic, expected an extent given for it\n"
            "input 'a': dimension 2 ('a_dim2') is dynamic, expected an extent given for it\n"
            "input 'b': dimension 1 ('width') is dynamic, expected an extent given for it");
}

TEST(Dimensions, ThatExportersDoNotKnowAreNotBoundAsOne) {
  const ReadOptions samples{.input_shapes = {{"x", {3, 320, 480}}}};
  for (const char* unknown : {"?", "None", "-1", ""}) {
    const Graph graph = identity({unknown, 3, unknown, unknown}).read(samples);
    EXPECT_EQ(shape_of(graph, "x"), (Shape{1, 3, 320, 480})) << unknown;
    EXPECT_EQ(graph.dimension_names.at("x"), (Names{"x_dim0", "", "x_dim2", "x_dim3"}));
  }
}

TEST(Dimensions, BelowZeroAreDynamic) {
  auto model = identity({1, 3, 4, 4});
  auto& shape =
      *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int axis : {0, 2, 3}) {
    shape.mutable_dim(axis)->set_dim_value(-1);
  }
  const Graph graph = model.read({.input_shapes = {{"x", {3, 320, 480}}}});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 3, 320, 480}));
}

TEST(Dimensions, SamplesOfAnotherRankAreAFault) {
  EXPECT_EQ(
      complaint(identity({"N", "length"}), {.input_shapes = {{"x", {3, 4, 5}}}}),
      "input 'x': its samples have shape [3,4,5], expected rank 1, or 2 for whole inputs\n"
      "input 'x': dimension 1 ('length') is dynamic, expected an extent given for it");
}

TEST(Dimensions, OfWholeInputsAreAllThoseOfTheSamples) {
  ModelBuilder model(13);
  model.input("x", {"frames", 1, "bins"})
      .input("state", {2, "N", 8})
      .node("Relu", {"x"}, {"y"})
      .output("y");
  const Graph graph = model.read({.input_shapes = {{"x", {7, 1, 16}}, {"state", {2, 3, 8}}}});
  EXPECT_EQ(shape_of(graph, "x"), (Shape{7, 1, 16}));
  EXPECT_EQ(shape_of(graph, "state"), (Shape{2, 3, 8}));
}

TEST(Dimensions, OfAScalarInputAreThoseOfSamplesThatAreSingleNumbers) {
  EXPECT_EQ(shape_of(identity({}).read({.input_shapes = {{"x", {}}}}), "y"), Shape{});
  EXPECT_EQ(complaint(identity({}), {.input_shapes = {{"x", {3}}}}),
            "input 'x': its samples have shape [3], expected single numbers");
}

TEST(Dimensions, AnInputWithoutShapeTakesThatOfItsSamples) {
  auto model = identity({});
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const Graph graph = model.read({.input_shapes = {{"x", {3, 4}}}});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 3, 4}));
  EXPECT_EQ(graph.dimension_names.at("y"), (Names{"y_dim0", "y_dim1", "y_dim2"}));
  EXPECT_EQ(complaint(model),
            "input 'x': has no shape, expected one in the model, or that of its samples");
}

/// y = x reshaped to [extent 0 of x, -1], the shape computed in the graph.
ModelBuilder computed_shape() {
  ModelBuilder model(13);
  model.input("x", {"N", 3, 4})
      .constant("zero", Tensor::scalar<std::int64_t>(0))
      .integers("first", {0})
      .integers("rest", {-1})
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "zero"}, {"batch"})
      .node("Unsqueeze", {"batch", "first"}, {"batch1"})
      .node("Concat", {"batch1", "rest"}, {"target"}, {{"axis", std::int64_t{0}}})
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y");
  return model;
}

TEST(ComputedShapes, AreFollowed) {
  const Graph graph =
      computed_shape().read({.dims = {{"N", 2}}, .evaluate = evaluate_integers});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 12}));
  EXPECT_EQ(operators(graph), (Names{"Reshape"}));
  EXPECT_EQ(operand(graph, "Reshape", 1),
            Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{0, 12}));
}

TEST(ComputedShapes, AreFaultsWithoutAnEvaluator) {
  EXPECT_EQ(complaint(computed_shape()),
            "Reshape: output shape depends on data (node 'Reshape_y')");
}

TEST(ComputedShapes, ShapeWithBoundsAndSizeNeedNoEvaluator) {
  ModelBuilder model(15);
  model.input("x", {2, 3, 4})
      .node("Shape", {"x"}, {"tail"}, {{"start", std::int64_t{-2}}})
      .node("ConstantOfShape", {"tail"}, {"y"})
      .output("y");
  EXPECT_EQ(shape_of(model.read(), "y"), (Shape{3, 4}));
}

TEST(Structure, NodesAreSortedAndNamesKeptOrMadeUnique) {
  ModelBuilder model(13);
  model.input("x", {2})
      .node("Relu", {"b"}, {"y"})
      .node("Abs", {"x"}, {"a"})
      .node("Neg", {"a"}, {"b"})
      .output("y");
  for (auto& node : *model.graph().mutable_node()) {
    node.set_name(node.op_type() == "Abs" ? "" : "same");
  }
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), (Names{"Abs", "Neg", "Relu"}));
  EXPECT_EQ(only(graph, "Relu").name, "same");
  EXPECT_EQ(only(graph, "Neg").name, "b");
  EXPECT_EQ(only(graph, "Abs").name, "a");
}

TEST(Structure, AGraphInputWithAnInitializerIsAConstant) {
  ModelBuilder model(8);
  model.input("x", {2}).input("w", {2}).constant("w", Tensor(DType::kFloat32, {2}));
  model.node("Add", {"x", "w"}, {"y"}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(graph.inputs().size(), 1U);
  EXPECT_NE(graph.constant(*graph.find_value("w")), nullptr);
}

TEST(Structure, AbsentOperandsStayAndTrailingOnesGo) {
  ModelBuilder model(13);
  model.input("x", {2})
      .constant("high", Tensor::scalar(1.0F))
      .node("Clip", {"x", "", "high"}, {"c"})
      .node("Clip", {"c", "", ""}, {"y"})
      .output("y");
  const Graph graph = model.read();
  const auto operands = [&](const char* value) {
    return graph.node(*graph.producer(*graph.find_value(value))).inputs;
  };
  EXPECT_EQ(operands("c").size(), 3U);
  EXPECT_FALSE(operands("c")[1]);
  EXPECT_EQ(operands("y").size(), 1U);
}

}  // namespace
}  // namespace tare::test
