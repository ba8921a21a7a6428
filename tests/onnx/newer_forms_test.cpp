#include "onnx/model_builder.h"
#include "onnx/tensor_proto.h"

#include <cstring>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

ModelBuilder with_data(int opset) {
  ModelBuilder model(opset);
  model.input("x", {2, 4, 5, 6});
  return model;
}

TEST(NewerForms, OfOpset22AreThoseOf21) {
  auto model = with_data(22);
  model.node("AveragePool", {"x"}, {"y"}, {{"kernel_shape", Integers{2, 2}}}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(graph.opset, 21);
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 4, 4, 5}));
}

TEST(NewerForms, SwishIsAProductWithItsSigmoid) {
  auto plain = with_data(24);
  plain.node("Swish", {"x"}, {"y"}).output("y");
  EXPECT_EQ(operators(plain.read()), (Names{"Sigmoid", "Mul"}));
  auto steep = with_data(24);
  steep.node("Swish", {"x"}, {"y"}, {{"alpha", 1.5F}}).output("y");
  const Graph graph = steep.read();
  EXPECT_EQ(operators(graph), (Names{"Mul", "Sigmoid", "Mul"}));
  EXPECT_EQ(graph.constant(graph.node(graph.topological_order()[0]).inputs[1])->to_float(),
            std::vector<float>{1.5F});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 4, 5, 6}));
}

TEST(NewerForms, RmsNormalizationDividesByTheRootOfTheMeanSquareFromItsAxisOn) {
  auto model = with_data(23);
  model.constant("scale", Tensor::of<float>({6}, std::vector<float>(6, 2)))
      .node("RMSNormalization", {"x", "scale"}, {"y"},
            {{"axis", std::int64_t{-2}}, {"epsilon", 1e-3F}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), (Names{"Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul"}));
  EXPECT_EQ(only(graph, "ReduceMean").attributes.integers("axes"), (Integers{2, 3}));
  EXPECT_EQ(operand(graph, "Add", 1).to_float(), std::vector<float>{1e-3F});
  auto beyond = with_data(23);
  beyond.constant("scale", Tensor::scalar<float>(1))
      .node("RMSNormalization", {"x", "scale"}, {"y"}, {{"axis", std::int64_t{4}}})
      .output("y");
  EXPECT_EQ(complaint(beyond),
            "node 'RMSNormalization_y' (RMSNormalization): axis 4 of an operand of rank 4");
}

TEST(Stft, HasAsManyFramesAsFitAndHalfOfTheBins) {
  const auto model = [](std::int64_t step, std::int64_t length) {
    ModelBuilder built(17);
    return built.input("x", {1, 400, 1})
        .constant("step", Tensor::scalar(step))
        .constant("length", Tensor::scalar(length))
        .node("STFT", {"x", "step", "", "length"}, {"y"})
        .output("y");
  };
  EXPECT_EQ(shape_of(model(160, 64).read(), "y"), (Shape{1, 3, 33, 2}));
  EXPECT_EQ(shape_of(model(1, 400).read(), "y"), (Shape{1, 1, 201, 2}));
  EXPECT_EQ(complaint(model(0, 64)),
            "node 'STFT_y' (STFT): signal [1,400,1] has no such frames");
  EXPECT_EQ(complaint(model(1, 401)),
            "node 'STFT_y' (STFT): signal [1,400,1] has no such frames");
}

TEST(NewerForms, Bfloat16KeepsTheOpsetThatOperatorsHaveItFrom) {
  ModelBuilder model(23);
  model.input("x", {2, 4}, DType::kBfloat16).node("Elu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(model.read().opset, 22);
  ModelBuilder older(17);
  older.input("x", {2, 4}, DType::kBfloat16).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(older.read().opset, 17);
}

TEST(NewerForms, ScalesOf16BitsAreFloat32BetweenCasts) {
  Tensor half(DType::kFloat16, {});
  const std::uint16_t bits = 0x3800;  // 0.5
  std::memcpy(half.mutable_data(), &bits, sizeof(bits));
  ModelBuilder model(21);
  model.input("x", {2, 4}, DType::kFloat16)
      .constant("scale", half)
      .constant("zero", Tensor::scalar<std::uint8_t>(7))
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"q"})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), (Names{"Cast", "QuantizeLinear", "DequantizeLinear", "Cast"}));
  EXPECT_EQ(operand(graph, "QuantizeLinear", 1).dtype(), DType::kFloat32);
  EXPECT_EQ(operand(graph, "DequantizeLinear", 1).to_float(), std::vector<float>{0.5F});
  EXPECT_EQ(graph.type(*graph.find_value("y")).dtype, DType::kFloat16);
  EXPECT_EQ(operators(in_float32(graph)), (Names{"QuantizeLinear", "DequantizeLinear"}));
}

TEST(NewerForms, AScaleOf16BitsThatIsComputedIsCast) {
  ModelBuilder model(19);
  model.input("x", {2, 4}, DType::kInt8)
      .input("scale", {}, DType::kFloat16)
      .node("DequantizeLinear", {"x", "scale"}, {"y"})
      .output("y");
  EXPECT_EQ(operators(model.read()), (Names{"Cast", "DequantizeLinear", "Cast"}));
}

TEST(NewerForms, DequantizedTypesAreThoseOfTheScale) {
  const auto model = [](std::int64_t dtype) {
    ModelBuilder built(23);
    return built.input("x", {2, 4}, DType::kInt8)
        .constant("scale", Tensor::scalar<float>(0.5F))
        .node("DequantizeLinear", {"x", "scale"}, {"y"}, {{"output_dtype", dtype}})
        .output("y");
  };
  EXPECT_FALSE(only(model(1).read(), "DequantizeLinear").attributes.has("output_dtype"));
  EXPECT_EQ(complaint(model(10)),
            "DequantizeLinear: attribute 'output_dtype' is 10, which is not supported (node "
            "'DequantizeLinear_y')");
}

TEST(NewerForms, AxesOfReductionsBecomeAnAttribute) {
  auto model = with_data(18);
  model.integers("axes", {-1, 1}).node("ReduceMean", {"x", "axes"}, {"y"}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(call(graph, "ReduceMean"), "ReduceMean(x)");
  EXPECT_EQ(only(graph, "ReduceMean").attributes.integers("axes"), (Integers{-1, 1}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 1, 5, 1}));
  EXPECT_FALSE(graph.find_value("axes"));
}

TEST(NewerForms, AReductionWithoutAxesReducesAllOrNothingAsItSays) {
  auto all = with_data(18);
  all.node("ReduceMax", {"x"}, {"y"}).output("y");
  EXPECT_EQ(shape_of(all.read(), "y"), (Shape{1, 1, 1, 1}));
  auto none = with_data(20);
  none.node("ReduceMax", {"x"}, {"y"}, {{"noop_with_empty_axes", std::int64_t{1}}}).output("y");
  EXPECT_EQ(operators(none.read()), Names{"Identity"});
}

TEST(NewerForms, ReduceSumKeepsItsOperand) {
  auto model = with_data(18);
  model.integers("axes", {1}).node("ReduceSum", {"x", "axes"}, {"y"}).output("y");
  EXPECT_EQ(call(model.read(), "ReduceSum"), "ReduceSum(x,axes)");
}

TEST(NewerForms, SplitIntoAnUnevenNumberOfPartsGetsItsSizes) {
  auto model = with_data(18);
  model.node("Split", {"x"}, {"a", "b", "c", "d"},
             {{"axis", std::int64_t{2}}, {"num_outputs", std::int64_t{4}}});
  for (const auto* name : {"a", "b", "c", "d"}) {
    model.output(name);
  }
  const Graph graph = model.read();
  EXPECT_EQ(operand(graph, "Split", 1).to_int64(), (Integers{2, 2, 1, 0}));
  EXPECT_FALSE(only(graph, "Split").attributes.has("num_outputs"));
}

TEST(NewerForms, PadsOfSomeAxesAreSpreadOverAll) {
  auto model = with_data(18);
  model.integers("pads", {1, 2, 3, 4})
      .integers("axes", {3, -2})
      .node("Pad", {"x", "pads", "", "axes"}, {"y"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operand(graph, "Pad", 1).to_int64(), (Integers{0, 0, 2, 1, 0, 0, 4, 3}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 4, 11, 10}));
}

TEST(NewerForms, ResizeOfSomeAxesIsSpreadOverAll) {
  const Attributes attributes{{"axes", Integers{3, 2}},
                              {"antialias", std::int64_t{0}},
                              {"keep_aspect_ratio_policy", std::string("stretch")}};
  auto sizes = with_data(19);
  sizes.integers("sizes", {12, 10}).node("Resize", {"x", "", "", "sizes"}, {"y"}, attributes);
  sizes.output("y");
  EXPECT_EQ(operand(sizes.read(), "Resize", 3).to_int64(), (Integers{2, 4, 10, 12}));
  auto scales = with_data(18);
  scales.constant("scales", Tensor::of<float>({2}, {2, 3}))
      .node("Resize", {"x", "", "scales"}, {"y"}, attributes)
      .output("y");
  const Graph graph = scales.read();
  EXPECT_EQ(operand(graph, "Resize", 2).to_float(), (std::vector<float>{1, 1, 3, 2}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 4, 15, 12}));
  auto smooth = with_data(18);
  smooth.constant("scales", Tensor::of<float>({4}, {1, 1, 2, 2}))
      .node("Resize", {"x", "", "scales"}, {"y"}, {{"antialias", std::int64_t{1}}})
      .output("y");
  EXPECT_EQ(only(smooth.read(), "Resize").attributes.integer("antialias"), 1);
}

TEST(NewerForms, CastAndQuantizationLoseWhatIsAboutOtherTypes) {
  auto cast = with_data(19);
  cast.node(
      "Cast", {"x"}, {"y"},
      {{"to", std::int64_t{onnx_data_type(DType::kInt8)}}, {"saturate", std::int64_t{1}}});
  cast.output("y");
  EXPECT_FALSE(only(cast.read(), "Cast").attributes.has("saturate"));
  auto quantize = with_data(21);
  quantize.constant("s", Tensor::scalar(0.5F))
      .node("QuantizeLinear", {"x", "s"}, {"y"},
            {{"output_dtype", std::int64_t{onnx_data_type(DType::kInt16)}}})
      .output("y");
  const Graph graph = quantize.read();
  EXPECT_EQ(operand(graph, "QuantizeLinear", 2), Tensor::scalar<std::int16_t>(0));
  EXPECT_EQ(graph.type(*graph.find_value("y")).dtype, DType::kInt16);
  auto blocks = with_data(21);
  blocks.constant("s", Tensor(DType::kFloat32, {2, 2, 5, 6}))
      .node("QuantizeLinear", {"x", "s"}, {"y"}, {{"block_size", std::int64_t{2}}})
      .output("y");
  EXPECT_EQ(complaint(blocks),
            "QuantizeLinear: attribute 'block_size' is 2, which is not supported "
            "(node 'QuantizeLinear_y')");
}

TEST(NewerForms, GeluHasTheTypeOfItsOperand) {
  auto model = with_data(20);
  model.node("Gelu", {"x"}, {"y"}, {{"approximate", std::string("tanh")}}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(only(graph, "Gelu").attributes.text("approximate"), "tanh");
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 4, 5, 6}));
}

TEST(NewerForms, GeluIsRefusedBelowOpset20) {
  auto model = with_data(19);
  model.node("Gelu", {"x"}, {"y"}).output("y");
  EXPECT_NE(complaint(model).find("operator 'Gelu' is younger than the opset of the model"),
            std::string::npos)
      << complaint(model);
}

TEST(NewerForms, DilatedAveragePoolHasTheShapeOfADilatedMaxPool) {
  auto model = with_data(19);
  model.node("AveragePool", {"x"}, {"y"},
             {{"kernel_shape", Integers{2, 2}},
              {"dilations", Integers{2, 3}},
              {"count_include_pad", std::int64_t{1}}});
  model.output("y");
  // A window of 2 with dilation d spans d + 1.
  EXPECT_EQ(shape_of(model.read(), "y"), (Shape{2, 4, 3, 3}));
}

TEST(NewerForms, GroupNormalizationIsInstanceNormalizationOfGroups) {
  for (const auto& [opset, parameters] : {std::pair{18, 2}, std::pair{21, 4}}) {
    auto model = with_data(opset);
    model.constant("s", Tensor(DType::kFloat32, {parameters}))
        .constant("b", Tensor(DType::kFloat32, {parameters}))
        .node("GroupNormalization", {"x", "s", "b"}, {"y"}, {{"num_groups", std::int64_t{2}}})
        .output("y");
    const Graph graph = model.read();
    const Node& normalization = only(graph, "InstanceNormalization");
    EXPECT_EQ(graph.type(normalization.inputs[0]).shape, (Shape{2, 2, 60}));
    EXPECT_EQ(graph.type(normalization.inputs[1]).shape, Shape{2});
    EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 4, 5, 6}));
    // Per channel, scale and bias follow the normalization.
    EXPECT_EQ(operators(graph).back(), parameters == 2 ? "Reshape" : "Add");
  }
}

TEST(NewerForms, OperatorsYoungerThanTheLibraryAreWrittenInOpsetsThatHaveThem) {
  const TemporaryFolder folder;
  ModelBuilder model(19);
  model.input("x", {1, 2, 6, 5})
      .input("moved", {1, 12, 5, 3})
      .constant("w", Tensor(DType::kFloat32, {4, 2, 2, 3}))
      .node("DeformConv", {"x", "w", "moved"}, {"y"}, {{"offset_group", std::int64_t{1}}})
      .output("y");
  Graph graph = model.read();
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 4, 5, 3}));
  graph.opset = 17;
  write_onnx(graph, folder / "model.onnx");
  const onnx::ModelProto written = load(folder / "model.onnx");
  EXPECT_EQ(written.opset_import(0).version(), 19);
  EXPECT_EQ(written.graph().node(0).op_type(), "DeformConv");

  ModelBuilder bits(18);
  bits.input("a", {3, 4}, DType::kUint8).input("b", {4}, DType::kUint8);
  bits.node("BitwiseAnd", {"a", "b"}, {"both"}).node("BitwiseNot", {"both"}, {"y"}).output("y");
  EXPECT_EQ(bits.read().type(bits.read().outputs()[0]).dtype, DType::kUint8);
  EXPECT_EQ(shape_of(bits.read(), "y"), (Shape{3, 4}));
}

TEST(NewerForms, TheAxisOfDftIsAnOperandAgainWhenItIsWritten) {
  const TemporaryFolder folder;
  ModelBuilder model(20);
  model.input("x", {2, 6, 4, 1})
      .constant("axis", Tensor::scalar<std::int64_t>(-3))
      .node("DFT", {"x", "", "axis"}, {"y"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(only(graph, "DFT").attributes.integer("axis"), 1);
  write_onnx(graph, folder / "model.onnx");
  const onnx::ModelProto written = load(folder / "model.onnx");
  ASSERT_EQ(written.graph().node(0).input_size(), 3);
  EXPECT_EQ(written.graph().node(0).attribute_size(), 0);
  EXPECT_EQ(read_onnx(folder / "model.onnx"), graph);
}

TEST(NewerForms, ACropIsThatOfTheExtentsAtHandOnly) {
  ModelBuilder model(18);
  model.input("x", {"N", 3, "height", 8})
      .integers("size", {4, 10})
      .node("CenterCropPad", {"x", "size"}, {"y"}, {{"axes", Integers{2, 3}}})
      .output("y");
  const Graph graph = model.read({.dims = {{"N", 1}, {"height", 7}}});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 3, 4, 10}));
  EXPECT_EQ(operand(graph, "Pad", 1).to_int64(), (Integers{0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_TRUE(graph.fixed_dimensions.contains("height"));
}

TEST(NewerForms, AttentionOfRareKindsIsRefusedByName) {
  const auto attention = [](const Attributes& attributes) {
    ModelBuilder model(23);
    model.input("q", {1, 2, 4, 8}).input("m", {4, 4});
    model.node("Attention", {"q", "q", "q", "m"}, {"y"}, attributes).output("y");
    return model;
  };
  EXPECT_EQ(complaint(attention({{"softcap", 2.0F}})),
            "Attention: 'softcap' with a mask is not supported (node 'Attention_y')");
  EXPECT_EQ(complaint(attention({})), "");
}

TEST(NewerForms, MishIsSpelledOut) {
  auto model = with_data(18);
  model.node("Mish", {"x"}, {"y"}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), (Names{"Softplus", "Tanh", "Mul"}));
  const std::vector<Origin> whole{{only(graph, "Mul").name, "Mish"}};
  for (const NodeId id : graph.nodes()) {
    EXPECT_EQ(graph.node(id).origins, whole) << "what the model has in their place";
  }
}

TEST(NewerForms, GridSampleGetsTheOldNamesOfItsModes) {
  auto model = with_data(20);
  model.input("g", {2, 3, 3, 2})
      .node("GridSample", {"x", "g"}, {"y"}, {{"mode", std::string("linear")}})
      .output("y");
  EXPECT_EQ(only(model.read(), "GridSample").attributes.text("mode"), "bilinear");
}

}  // namespace
}  // namespace tare::test
