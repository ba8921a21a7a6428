#include "tare/error.h"

#include "onnx/model_builder.h"
#include "onnx/tensor_proto.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Files, ThatAreNotModelsAreRefused) {
  const auto code = [](const std::string& path) {
    try {
      (void)read_onnx(path);
      return ErrorCode::kInternal;
    } catch (const Error& error) {
      EXPECT_EQ(error.faults().front().where, path);
      return error.code();
    }
  };
  const std::string source(TARE_SOURCE_DIR);
  EXPECT_EQ(code(source + "/data/no_such_file.onnx"), ErrorCode::kIo);
  EXPECT_EQ(code(source + "/data"), ErrorCode::kIo);
  EXPECT_EQ(code(source + "/CMakeLists.txt"), ErrorCode::kInvalidModel);
  EXPECT_THROW(read(""), Error);
}

TEST(Opsets, From6To25AreReadAndOthersNamed) {
  const auto relu = [](int opset) {
    ModelBuilder model(opset);
    return model.input("x", {1}).node("Relu", {"x"}, {"y"}).output("y");
  };
  for (int opset = 6; opset <= 21; ++opset) {
    EXPECT_EQ(relu(opset).read().opset, opset);
  }
  for (const int opset : {22, 23, 24, 25}) {
    EXPECT_EQ(relu(opset).read().opset, 21);
  }
  EXPECT_EQ(complaint(relu(5)), "the model is of opset 5, expected opset 6 to 25");
  EXPECT_EQ(complaint(relu(26)), "the model is of opset 26, expected opset 6 to 25");
  auto none = relu(13);
  none.proto().clear_opset_import();
  EXPECT_EQ(complaint(none), "the model does not name its opset");
}

TEST(UnsupportedOperators, AreListedAtOnceEachWithItsCount) {
  ModelBuilder model(13);
  model.input("x", {1, 4})
      .node("Foo", {"x"}, {"a"})
      .node("Foo", {"a"}, {"b"})
      .node("Relu", {"b"}, {"c"})
      .node("Bar", {"c"}, {"d"})
      .node("Abs", {"x"}, {"e"})
      .output("d")
      .output("e");
  model.node("Sampling", {"x"}, {"f"});
  model.last().set_domain("com.microsoft");
  EXPECT_EQ(complaint(model, {.supported_ops = {"Relu"}}),
            "operator 'Foo' is not supported (2 nodes, first 'Foo_a')\n"
            "operator 'Bar' is not supported (node 'Bar_d')\n"
            "operator 'Abs' is not supported (node 'Abs_e')\n"
            "operator 'com.microsoft.Sampling' is not supported (node 'Sampling_f')");
}

TEST(UnsupportedOperators, AreFoundInTheirNormalizedForm) {
  ModelBuilder model(7);
  model.input("x", {1, 1, 2, 2})
      .node("Upsample", {"x"}, {"y"}, {{"scales", std::vector<float>{1, 1, 2, 2}}})
      .output("y");
  EXPECT_EQ(complaint(model, {.supported_ops = {"Resize"}}), "");
  EXPECT_EQ(complaint(model, {.supported_ops = {"Upsample"}}),
            "operator 'Resize' is not supported (node 'Upsample_y')");
}

TEST(UnsupportedModels, OfOtherKindsAreSaidToBeNoNetworks) {
  const auto refusal = [](const char* op) {
    ModelBuilder model(13);
    model.input("x", {1, 4}).node(op, {"x"}, {"y", "scores"}).output("y").output("scores");
    model.last().set_domain("ai.onnx.ml");
    return complaint(model);
  };
  EXPECT_EQ(refusal("TreeEnsembleClassifier"),
            "node 'TreeEnsembleClassifier_y' (ai.onnx.ml.TreeEnsembleClassifier): this is no "
            "neural network but decision trees");
  EXPECT_EQ(refusal("SVMRegressor"),
            "node 'SVMRegressor_y' (ai.onnx.ml.SVMRegressor): this is no neural network but a "
            "support vector machine");
  EXPECT_EQ(
      refusal("LinearClassifier"),
      "node 'LinearClassifier_y' (ai.onnx.ml.LinearClassifier): this is no neural network "
      "but a linear model");
}

TEST(UnsupportedFeatures, AreReportedTogetherWithOperatorsAndDimensions) {
  ModelBuilder model(13);
  model.input("x", {"N", "length"})
      .input("s", {1}, DType::kFloat32)
      .node("NonZero", {"s"}, {"where"})
      .node("Foo", {"s"}, {"y"})
      .output("y");
  model.node("Cast", {"s"}, {"t"}, {{"to", std::int64_t{onnx::TensorProto::STRING}}});
  model.node("SequenceEmpty", {}, {"u"}).output("u");
  EXPECT_EQ(complaint(model),
            "input 'x': dimension 1 ('length') is dynamic, expected an extent given for it\n"
            "NonZero: output shape depends on data (node 'NonZero_where')\n"
            "operator 'Foo' is not supported (node 'Foo_y')\n"
            "Cast: element type STRING is not supported (node 'Cast_t')\n"
            "SequenceEmpty: its result is no tensor (node 'SequenceEmpty_u')");
}

TEST(UnsupportedTypes, OfInputsAndConstantsAreNamed) {
  ModelBuilder model(13);
  model.input("x", {1}).input("words", {1}).node("Add", {"x", "c"}, {"y"}).output("y");
  model.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::STRING);
  auto& constant = *model.graph().add_initializer();
  constant.set_name("c");
  constant.set_data_type(onnx::TensorProto::COMPLEX64);
  EXPECT_EQ(complaint(model),
            "input 'words': element type STRING is not supported\n"
            "constant 'c': element type COMPLEX64 is not supported");
}

TEST(BrokenStructure, IsReportedWithEveryFault) {
  ModelBuilder model(13);
  model.input("x", {1})
      .node("Add", {"x", "nowhere"}, {"y"})
      .node("Relu", {"x"}, {"y"})
      .node("", {"x"}, {"z"})
      .output("y")
      .output("y")
      .output("missing");
  EXPECT_EQ(complaint(model),
            "result 'y': another value has this name\n"
            "node '_z' (): has no operator\n"
            "node 'Add_y' (Add): nothing produces 'nowhere'\n"
            "output 'y': is listed twice or has no name\n"
            "output 'missing': nothing produces 'missing'");
}

TEST(BrokenStructure, CyclesAndMissingOutputsAreFaults) {
  ModelBuilder cycle(13);
  cycle.input("x", {1}).node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).output("b");
  EXPECT_EQ(complaint(cycle),
            "node 'Add_a' (Add): the graph has a cycle through or before this node");
  ModelBuilder none(13);
  none.input("x", {1}).node("Relu", {"x"}, {"a"});
  EXPECT_EQ(complaint(none), "the graph has no outputs");
}

std::string conv_fault(const Dims& weight, const Attributes& attributes,
                       DType dtype = DType::kFloat32) {
  ModelBuilder model(13);
  model.input("x", {1, 3, 8, 8})
      .input("w", weight, dtype)
      .node("Conv", {"x", "w"}, {"y"}, attributes)
      .output("y");
  return complaint(model);
}

TEST(BrokenRules, OfAnOperatorNameTheNodeInOneLine) {
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(conv_fault({4, 3, 3, 3}, {{"strides", Integers{0, 1}}}),
            "node 'Conv_y' (Conv): attribute 'strides' is [0,1], expected values above 0");
  EXPECT_EQ(conv_fault({4, 3, 3, 3}, {{"stride", Integers{1, 1}}}),
            "node 'Conv_y' (Conv): Unrecognized attribute: stride for operator Conv");
  EXPECT_EQ(conv_fault({4, 3, 3, 3}, {}, DType::kFloat64),
            "node 'Conv_y' (Conv): operand 1 'W' is f64, expected f32");
  const std::string sized = conv_fault({4, 3, 3, 3}, {{"kernel_shape", Integers{3}}});
  EXPECT_TRUE(sized.starts_with("node 'Conv_y' (Conv): ")) << sized;
  EXPECT_EQ(sized.find('\n'), std::string::npos) << sized;
}

TEST(BrokenRules, WindowsThatLeadFurtherThan64BitsCountAreNamed) {
  using Integers = std::vector<std::int64_t>;
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  EXPECT_EQ(conv_fault({4, 3, 5, 5}, {{"dilations", Integers{1, kFar}}}),
            "node 'Conv_y' (Conv): attribute 'dilations' is [1,4611686018427387904], expected "
            "windows of at most 1099511627776 elements");
  EXPECT_EQ(conv_fault({4, 3, 3, 3}, {{"pads", Integers{0, 0, kFar, 0}}}),
            "node 'Conv_y' (Conv): attribute 'pads' is [0,0,4611686018427387904,0], expected "
            "values from 0 to 1099511627776");
  EXPECT_EQ(conv_fault({4, 3, 3, 3}, {{"pads", Integers{0, 0, 0, -1}}}),
            "node 'Conv_y' (Conv): attribute 'pads' is [0,0,0,-1], expected values from 0 to "
            "1099511627776");
  EXPECT_EQ(conv_fault({4, 3, 1, 1}, {{"dilations", Integers{kFar, kFar}}}), "");
  EXPECT_EQ(conv_fault({4, 3, 3, 3}, {{"strides", Integers{kFar, kFar}}}), "");
}

TEST(BrokenRules, ABiasHasANumberForEachChannel) {
  const auto fault = [](const std::string& op, const Dims& weight, const Dims& bias) {
    ModelBuilder model(13);
    model.input("x", {1, 4, 8, 8})
        .input("w", weight)
        .input("b", bias)
        .node(op, {"x", "w", "b"}, {"y"}, {{"group", std::int64_t{2}}})
        .output("y");
    return complaint(model);
  };
  EXPECT_EQ(fault("Conv", {6, 2, 3, 3}, {6}), "");
  EXPECT_EQ(fault("Conv", {6, 2, 3, 3}, {1}),
            "node 'Conv_y' (Conv): the bias has shape [1], expected [6]");
  EXPECT_EQ(fault("Conv", {6, 2, 3, 3}, {}),
            "node 'Conv_y' (Conv): the bias has shape [], expected [6]");
  EXPECT_EQ(fault("ConvTranspose", {4, 3, 3, 3}, {6}), "");
  EXPECT_EQ(fault("ConvTranspose", {4, 3, 3, 3}, {3}),
            "node 'ConvTranspose_y' (ConvTranspose): the bias has shape [3], expected [6]");
}

TEST(BrokenRules, ABrokenConstantIsNamedWithItsReader) {
  ModelBuilder model(13);
  model.input("x", {2}).node("Add", {"x", "c"}, {"y"}).output("y");
  auto& constant = *model.graph().add_initializer();
  constant.set_name("c");
  constant.set_data_type(onnx::TensorProto::FLOAT);
  constant.add_dims(2);
  constant.set_raw_data("123");
  EXPECT_EQ(
      complaint(model),
      "node 'Add_y' (Add): constant 'c': a tensor of shape [2] stores 3 bytes, expected 8");
}

}  // namespace
}  // namespace tare::test
