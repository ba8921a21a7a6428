#include "onnx/model_builder.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Integers = std::vector<std::int64_t>;

/// One node from x [2,3,4,4] to y.
ModelBuilder one(int opset, const std::string& op, const Attributes& attributes,
                 std::vector<std::string> outputs = {"y"}) {
  ModelBuilder model(opset);
  model.input("x", {2, 3, 4, 4}).node(op, {"x"}, outputs, attributes);
  for (const std::string& name : outputs) {
    model.output(name);
  }
  return model;
}

TEST(OlderForms, ClipLimitsBecomeOperandsOfTheTypeOfTheData) {
  const Graph graph = one(10, "Clip", {{"min", 0.0F}, {"max", 6.0F}}).read();
  EXPECT_EQ(operand(graph, "Clip", 1), Tensor::scalar(0.0F));
  EXPECT_EQ(operand(graph, "Clip", 2), Tensor::scalar(6.0F));
  EXPECT_TRUE(only(graph, "Clip").attributes.items().empty());
  ModelBuilder wide(10);
  wide.input("x", {2}, DType::kFloat64).node("Clip", {"x"}, {"y"}, {{"min", 0.5F}}).output("y");
  EXPECT_EQ(operand(wide.read(), "Clip", 1), Tensor::scalar(0.5));
}

ModelBuilder sum_of_opset6(const Dims& second, const Attributes& attributes) {
  ModelBuilder model(6);
  return model.input("x", {2, 3, 4, 4})
      .input("b", second)
      .node("Add", {"x", "b"}, {"y"}, attributes)
      .output("y");
}

TEST(OlderForms, OperandsAreBroadcastAlongTheirAxisWhereTheNodeSaysSo) {
  const std::int64_t one = 1;
  const Graph channels = sum_of_opset6({3}, {{"broadcast", one}, {"axis", one}}).read();
  EXPECT_EQ(operand(channels, "Reshape", 1).to_int64(), (Integers{3, 1, 1}));
  EXPECT_TRUE(only(channels, "Add").attributes.items().empty());
  EXPECT_EQ(shape_of(channels, "y"), (Shape{2, 3, 4, 4}));
  const Graph last = sum_of_opset6({4, 4}, {{"broadcast", one}}).read();
  EXPECT_EQ(operators(last), std::vector<std::string>{"Add"});
  EXPECT_EQ(complaint(sum_of_opset6({4, 4}, {})),
            "node 'Add_y' (Add): operands [2,3,4,4] and [4,4] differ, expected one shape, as "
            "`broadcast` is not set");
  EXPECT_EQ(complaint(sum_of_opset6({4, 4}, {{"broadcast", one}, {"axis", std::int64_t{3}}})),
            "node 'Add_y' (Add): operand 1 is [4,4], which from axis 3 on does not fit rank 4");
}

TEST(OlderForms, SlopesAreThoseOfChannels) {
  ModelBuilder model(6);
  model.input("x", {2, 3, 4, 4})
      .constant("slope", Tensor::of<float>({3}, {1, 2, 3}))
      .node("PRelu", {"x", "slope"}, {"y"})
      .output("y");
  EXPECT_EQ(operand(model.read(), "Reshape", 1).to_int64(), (Integers{3, 1, 1}));
}

TEST(OlderForms, DropoutThatDoesNotSayThatItTestsTrains) {
  EXPECT_EQ(complaint(one(6, "Dropout", {})),
            "Dropout: training mode is not supported (node 'Dropout_y')");
  EXPECT_EQ(operators(one(6, "Dropout", {{"is_test", std::int64_t{1}}}).read()),
            std::vector<std::string>{"Dropout"});
}

TEST(OlderForms, AClipWithoutLowerLimitHasAnAbsentOperand) {
  const Graph graph = one(7, "Clip", {{"max", 6.0F}}).read();
  EXPECT_EQ(call(graph, "Clip"), "Clip(x,,Clip_y_max)");
}

TEST(OlderForms, PadAttributesBecomeOperands) {
  const Attributes attributes{{"pads", Integers{0, 0, 1, 1, 0, 0, 2, 2}}, {"value", 1.5F}};
  const Graph graph = one(8, "Pad", attributes).read();
  EXPECT_EQ(operand(graph, "Pad", 1),
            (Tensor::of<std::int64_t>({8}, {0, 0, 1, 1, 0, 0, 2, 2})));
  EXPECT_EQ(operand(graph, "Pad", 2), Tensor::scalar(1.5F));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 3, 7, 7}));
}

TEST(OlderForms, SliceAttributesBecomeOperands) {
  const Attributes attributes{
      {"starts", Integers{1}}, {"ends", Integers{3}}, {"axes", Integers{2}}};
  const Graph graph = one(9, "Slice", attributes).read();
  EXPECT_EQ(only(graph, "Slice").inputs.size(), 4U);
  EXPECT_EQ(operand(graph, "Slice", 3).to_int64(), Integers{2});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 3, 2, 4}));
}

TEST(OlderForms, AxesOfSqueezeUnsqueezeAndReduceSumBecomeOperands) {
  EXPECT_EQ(shape_of(one(11, "Unsqueeze", {{"axes", Integers{0, -1}}}).read(), "y"),
            (Shape{1, 2, 3, 4, 4, 1}));
  const Graph sum =
      one(12, "ReduceSum", {{"axes", Integers{1}}, {"keepdims", std::int64_t{0}}}).read();
  EXPECT_EQ(operand(sum, "ReduceSum", 1).to_int64(), Integers{1});
  EXPECT_EQ(shape_of(sum, "y"), (Shape{2, 4, 4}));
  ModelBuilder squeeze(11);
  squeeze.input("x", {1, 2, 1})
      .node("Squeeze", {"x"}, {"y"}, {{"axes", Integers{2}}})
      .output("y");
  EXPECT_EQ(shape_of(squeeze.read(), "y"), (Shape{1, 2}));
}

TEST(OlderForms, SplitSizesAndTheKOfTopKBecomeVectors) {
  const Graph split =
      one(11, "Split", {{"axis", std::int64_t{1}}, {"split", Integers{1, 2}}}, {"y", "z"})
          .read();
  EXPECT_EQ(operand(split, "Split", 1).to_int64(), (Integers{1, 2}));
  EXPECT_EQ(shape_of(split, "z"), (Shape{2, 2, 4, 4}));
  const Graph top = one(9, "TopK", {{"k", std::int64_t{2}}}, {"y", "i"}).read();
  EXPECT_EQ(operand(top, "TopK", 1), (Tensor::of<std::int64_t>({1}, {2})));
  EXPECT_EQ(shape_of(top, "y"), (Shape{2, 3, 4, 2}));
}

TEST(OlderForms, DropoutTakesItsRatioAsOperandAndLosesAnUnusedMask) {
  ModelBuilder model(7);
  model.input("x", {4}).node("Dropout", {"x"}, {"y", "mask"}, {{"ratio", 0.25F}}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operand(graph, "Dropout", 1), Tensor::scalar(0.25F));
  EXPECT_EQ(only(graph, "Dropout").outputs.size(), 1U);
}

TEST(OlderForms, UpsampleBecomesAnAsymmetricResizeThatRoundsDown) {
  ModelBuilder newer(9);
  newer.input("x", {1, 1, 2, 2})
      .constant("scales", Tensor::of<float>({4}, {1, 1, 2, 3}))
      .node("Upsample", {"x", "scales"}, {"y"}, {{"mode", std::string("linear")}})
      .output("y");
  const Graph graph = newer.read();
  EXPECT_EQ(call(graph, "Resize"), "Resize(x,,scales)");
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 1, 4, 6}));
  const Attributes& attributes = only(graph, "Resize").attributes;
  EXPECT_EQ(attributes.text("coordinate_transformation_mode"), "asymmetric");
  EXPECT_EQ(attributes.text("nearest_mode"), "floor");
  EXPECT_EQ(attributes.text("mode"), "linear");
  const Graph older = one(7, "Upsample", {{"scales", std::vector<float>{1, 1, 2, 2}}}).read();
  EXPECT_EQ(shape_of(older, "y"), (Shape{2, 3, 8, 8}));
}

TEST(OlderForms, ResizeOfOpset10IsAsymmetricAndRoundsUpWhereItShrinks) {
  const auto rounding = [](const std::vector<float>& scales) {
    ModelBuilder model(10);
    model.input("x", {1, 1, 4, 4})
        .constant("scales", Tensor::of({4}, scales))
        .node("Resize", {"x", "scales"}, {"y"})
        .output("y");
    return only(model.read(), "Resize").attributes.text("nearest_mode");
  };
  EXPECT_EQ(rounding({1, 1, 2, 2}), "floor");
  EXPECT_EQ(rounding({1, 1, 0.5F, 0.5F}), "ceil");
}

TEST(OlderForms, EmptyResizeOperandsOfOpset11AreAbsent) {
  ModelBuilder model(11);
  model.input("x", {1, 1, 4, 4})
      .constant("none", Tensor())
      .integers("sizes", {1, 1, 2, 8})
      .node("Resize", {"x", "none", "none", "sizes"}, {"y"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(call(graph, "Resize"), "Resize(x,,,sizes)");
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 1, 2, 8}));
}

TEST(OlderForms, BatchNormalizationLosesSpatialAndUnusedTrainingResults) {
  ModelBuilder model(7);
  model.input("x", {1, 3, 2, 2});
  for (const auto* name : {"scale", "bias", "mean", "var"}) {
    model.constant(name, Tensor(DType::kFloat32, {3}));
  }
  model
      .node("BatchNormalization", {"x", "scale", "bias", "mean", "var"},
            {"y", "m", "v", "sm", "sv"}, {{"spatial", std::int64_t{1}}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_FALSE(only(graph, "BatchNormalization").attributes.has("spatial"));
  EXPECT_EQ(only(graph, "BatchNormalization").outputs.size(), 1U);
  model.output("m");
  EXPECT_EQ(complaint(model),
            "BatchNormalization: training mode is not supported (node 'BatchNormalization_y')");
}

TEST(OlderForms, SoftmaxOverTheLastAxisThatIsNotOneStaysOneNode) {
  ModelBuilder model(11);
  model.input("x", {2, 10, 1, 1}).node("Softmax", {"x"}, {"y"}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), std::vector<std::string>{"Softmax"});
  EXPECT_EQ(only(graph, "Softmax").attributes.integer("axis"), 1);
}

TEST(OlderForms, SoftmaxOverSeveralAxesIsFlattenedAndKeepsItsName) {
  const Graph graph = one(12, "LogSoftmax", {{"axis", std::int64_t{2}}}).read();
  EXPECT_EQ(operators(graph), (std::vector<std::string>{"Flatten", "LogSoftmax", "Reshape"}));
  const Node& softmax = only(graph, "LogSoftmax");
  EXPECT_EQ(softmax.name, "LogSoftmax_y");
  EXPECT_EQ(softmax.attributes.integer("axis"), -1);
  EXPECT_EQ(graph.type(softmax.outputs[0]).shape, (Shape{6, 16}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 3, 4, 4}));
}

TEST(OlderForms, ScatterIsScatterElements) {
  ModelBuilder model(9);
  model.input("x", {3})
      .integers("at", {1})
      .constant("u", Tensor(DType::kFloat32, {1}))
      .node("Scatter", {"x", "at", "u"}, {"y"})
      .output("y");
  EXPECT_EQ(call(model.read(), "ScatterElements"), "ScatterElements(x,at,u)");
}

}  // namespace
}  // namespace tare::test
