#include "tare/error.h"

#include "onnx/export/export_model.h"
#include "onnx/integer_evaluator.h"
#include "onnx/model_builder.h"
#include "onnx/model_file.h"
#include "support/files/files.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numbers>

#include <gtest/gtest.h>
#include <onnx/checker.h>

namespace tare::test {
namespace {

using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// Writes the graph and reads it again.
Graph again(const Graph& graph) {
  const TemporaryFolder folder;
  write_onnx(graph, folder / "again.onnx");
  return read_onnx(folder / "again.onnx", {.evaluate = evaluate_integers});
}

int opset_written(const Graph& graph) {
  return static_cast<int>(export_model(graph, {}).proto.opset_import(0).version());
}

Graph one_node(int opset, const std::string& op, const Attributes& attributes = {}) {
  ModelBuilder model(opset);
  return model.input("x", {1, 4, 6, 6}).node(op, {"x"}, {"y"}, attributes).output("y").read();
}

std::vector<std::filesystem::path> models() {
  const std::filesystem::path source(TARE_SOURCE_DIR);
  std::vector<std::filesystem::path> result{source / "data/digits.onnx"};
  const char* shared = std::getenv("TARE_SHARED");
  const auto folder = (shared != nullptr ? shared : source / "../shared") / "models";
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") {
        result.push_back(entry.path());
      }
    }
  }
  return result;
}

TEST(RoundTrip, OfModelsChangesNothingButTheOpset) {
  for (const auto& path : models()) {
    SCOPED_TRACE(path);
    const Graph graph = read_onnx(path, {.evaluate = evaluate_integers});
    Graph copy = again(graph);
    EXPECT_EQ(copy.opset, std::max(graph.opset, 13));
    copy.opset = graph.opset;
    EXPECT_TRUE(copy == graph);
  }
}

TEST(RoundTrip, WrittenModelsPassTheChecker) {
  const TemporaryFolder folder;
  for (const auto& path : models()) {
    SCOPED_TRACE(path);
    write_onnx(read_onnx(path, {.evaluate = evaluate_integers}), folder / "m.onnx",
               {{"key", "value"}});
    const onnx::ModelProto written = load(folder / "m.onnx");
    EXPECT_NO_THROW(onnx::checker::check_model(written));
    EXPECT_EQ(written.producer_name(), "tare");
    EXPECT_EQ(written.metadata_props(0).value(), "value");
  }
}

TEST(RoundTrip, OfTheSameGraphGivesTheSameBytes) {
  const TemporaryFolder folder;
  const Graph graph = read_onnx(models().front());
  write_onnx(graph, folder / "a.onnx");
  write_onnx(graph, folder / "b.onnx");
  EXPECT_EQ(bytes_of(folder / "a.onnx"), bytes_of(folder / "b.onnx"));
}

TEST(RoundTrip, KeepsFormsThatChangedAtOpset18) {
  ModelBuilder model(18);
  model.input("x", {2, 4})
      .integers("axes", {1})
      .node("ReduceMean", {"x", "axes"}, {"m"})
      .node("Split", {"x"}, {"a", "b"},
            {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}})
      .output("m")
      .output("a")
      .output("b");
  const Graph graph = model.read();
  EXPECT_TRUE(again(graph) == graph);
  const onnx::ModelProto written = export_model(graph, {}).proto;
  EXPECT_EQ(written.ir_version(), 8);
  EXPECT_EQ(written.graph().node(0).input_size(), 2);
  EXPECT_EQ(written.graph().node(1).attribute(1).name(), "num_outputs");
}

TEST(WrittenOpset, IsThatOfTheGraphRaisedWhereAnOperatorNeedsIt) {
  EXPECT_EQ(opset_written(one_node(9, "Relu")), 13);
  EXPECT_EQ(opset_written(one_node(15, "Relu")), 15);
  EXPECT_EQ(opset_written(one_node(21, "Relu")), 21);
  Graph swish = one_node(14, "HardSwish");
  swish.opset = 11;
  EXPECT_EQ(opset_written(swish), 14);
  Graph shape = one_node(15, "Shape", {{"start", std::int64_t{1}}});
  shape.opset = 13;
  EXPECT_EQ(opset_written(shape), 15);
  Graph pool = one_node(19, "AveragePool",
                        {{"kernel_shape", Integers{2, 2}}, {"dilations", Integers{2, 2}}});
  pool.opset = 13;
  EXPECT_EQ(opset_written(pool), 19);
}

TEST(WrittenOpset, IsRaisedTo21For16BitStorage) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::kFloat32, .shape = {2}});
  const ValueId scale = graph.add_constant("s", Tensor::scalar(0.5F));
  const ValueId zero = graph.add_constant("z", Tensor::scalar<std::uint16_t>(9));
  const NodeId node = graph.add_node("q", "QuantizeLinear", {x, scale, zero},
                                     {{"y", {.dtype = DType::kUint16, .shape = {2}}}});
  graph.set_outputs({graph.node(node).outputs[0]});
  EXPECT_EQ(opset_written(graph), 21);
  graph.opset = 21;
  graph.graph_name = "g";
  EXPECT_TRUE(again(graph) == graph);
}

/// ONNX Runtime takes an operand that is listed without a name for one that is no constant.
TEST(WrittenOperands, EndWithTheLastThatIsThere) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.shape = {4}});
  const ValueId low = graph.add_constant("low", Tensor::scalar(-1.0F));
  const NodeId clip =
      graph.add_node("clip", "Clip", {x, low, ValueId{}}, {{"y", {.shape = {4}}}});
  graph.set_outputs({graph.node(clip).outputs[0]});
  const onnx::ModelProto proto = export_model(graph, {}).proto;
  EXPECT_EQ(proto.graph().node(0).input_size(), 2);
  graph.set_input(clip, 1, {});
  graph.set_input(clip, 2, low);
  EXPECT_EQ(export_model(graph, {}).proto.graph().node(0).input(1), "");
}

TEST(WrittenTypes, AreSymbolicWhereTheModelWas) {
  ModelBuilder model(13);
  model.input("x", {"N", 3}).node("Relu", {"x"}, {"h"}).node("Abs", {"h"}, {"y"}).output("y");
  auto& shape =
      *model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.add_dim()->set_dim_param("N");
  shape.add_dim()->set_dim_value(3);
  const onnx::GraphProto graph = export_model(model.read(), {}).proto.graph();
  const auto& input = graph.input(0).type().tensor_type().shape();
  EXPECT_EQ(input.dim(0).dim_param(), "N");
  EXPECT_EQ(input.dim(1).dim_value(), 3);
  EXPECT_EQ(graph.output(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  // The batch of 1 that this graph is bound to must not be claimed of values inside. Their rank
  // is: engines do not infer that of what comes out of loops.
  EXPECT_EQ(graph.value_info(0).name(), "h");
  const auto& inside = graph.value_info(0).type().tensor_type().shape();
  ASSERT_EQ(inside.dim_size(), 2);
  EXPECT_FALSE(inside.dim(0).has_dim_value());
  EXPECT_FALSE(inside.dim(1).has_dim_value());
}

TEST(WrittenTypes, OfIntermediateValuesAreStaticWhereAllInputsAre) {
  ModelBuilder model(13);
  model.input("x", {2, 3}).node("Relu", {"x"}, {"h"}).node("Abs", {"h"}, {"y"}).output("y");
  const onnx::GraphProto graph = export_model(model.read(), {}).proto.graph();
  EXPECT_EQ(graph.value_info(0).type().tensor_type().shape().dim(1).dim_value(), 3);
}

/// Computes a written decomposition of Gelu for one number.
float run_scalar(const onnx::GraphProto& graph, const ExportedModel& model, float x) {
  std::map<std::string, double> values{{"x", x}};
  for (std::size_t i = 0; i < model.constants.size(); ++i) {
    values[graph.initializer(static_cast<int>(i)).name()] = model.constants[i].to_double()[0];
  }
  for (const auto& node : graph.node()) {
    const double a = values.at(node.input(0));
    const double b = node.input_size() > 1 ? values.at(node.input(1)) : 0;
    const std::map<std::string, double> results{{"Mul", a * b},       {"Add", a + b},
                                                {"Div", a / b},       {"Pow", std::pow(a, b)},
                                                {"Erf", std::erf(a)}, {"Tanh", std::tanh(a)}};
    values[node.output(0)] = results.at(node.op_type());
  }
  return static_cast<float>(values.at("y"));
}

TEST(WrittenGelu, IsSpelledOutBelowOpset20) {
  for (const std::string approximate : {"none", "tanh"}) {
    ModelBuilder source(20);
    source.input("x", {1})
        .node("Gelu", {"x"}, {"y"}, {{"approximate", approximate}})
        .output("y");
    Graph graph = source.read();
    EXPECT_TRUE(again(graph) == graph);
    graph.opset = 17;
    const ExportedModel model = export_model(graph, {});
    const onnx::GraphProto& proto = model.proto.graph();
    EXPECT_EQ(proto.node(proto.node_size() - 1).name(), "Gelu_y");
    for (const double x : {-3.0, -0.5, 0.0, 0.25, 2.0}) {
      const double exact = 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
      const double bent = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      const double wanted = approximate == "none" ? exact : 0.5 * x * (1 + std::tanh(bent));
      // Constants are float: a few roundings of 2^-24 of values below 4.
      EXPECT_NEAR(run_scalar(proto, model, static_cast<float>(x)), wanted, 1e-6);
    }
    EXPECT_EQ(again(graph).opset, 17);
  }
}

TEST(Writing, RefusesOperatorsThatAreNotOfOnnx) {
  Graph graph;
  const TensorType type{.dtype = DType::kFloat32, .shape = {2}};
  const ValueId x = graph.add_input("x", type);
  const NodeId node = graph.add_node("r", "Requantize", {x}, {{"y", type}});
  graph.set_outputs({graph.node(node).outputs[0]});
  const TemporaryFolder folder;
  try {
    write_onnx(graph, folder / "m.onnx");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_STREQ(error.what(), "node 'r' (Requantize): has no form in ONNX");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Writing, PutsLargeConstantsBesideALargeModel) {
  const TemporaryFolder folder;
  const Graph graph = read_onnx(models().front());
  save_model(export_model(graph, {}), folder / "m.onnx", 100'000);
  EXPECT_LT(std::filesystem::file_size(folder / "m.onnx"), 100'000U);
  EXPECT_EQ(external_files(folder / "m.onnx"), std::set{folder / "m.onnx.data"});
  EXPECT_GT(std::filesystem::file_size(folder / "m.onnx.data"), 100'000U);
  EXPECT_TRUE(external_files(models().front()).empty());
  EXPECT_TRUE(read_onnx(folder / "m.onnx") == graph);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(Writing, LeavesNothingWhenItFails) {
  const TemporaryFolder folder;
  const Graph graph = read_onnx(models().front());
  EXPECT_THROW(write_onnx(graph, folder / "no_folder/m.onnx"), Error);
  std::filesystem::create_directory(folder / "m.onnx.data");
  EXPECT_THROW(save_model(export_model(graph, {}), folder / "m.onnx", 0), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "m.onnx"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(write_onnx(graph, "/dev/null"), Error);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WriteOnnx, WritesDetectionPostProcessAsAFunctionOfOnnxOperators) {
  for (const char* regular : {"0", "1"}) {
    const Graph graph = parse(
        "graph \"g\" opset 13 (%e : f32[1,3,4], %s : f32[1,3,3]) -> (%b, %c, %p, %n) {\n"
        "const %a : f32[3,4] = [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1]\n"
        "%b, %c, %p, %n = DetectionPostProcess(%e, %s, %a) {num_classes=2, max_detections=3, "
        "max_classes_per_detection=1, detections_per_class=100, use_regular_nms=" +
        std::string(regular) +
        ", nms_score_threshold=0.5, nms_iou_threshold=0.5, y_scale=10.0, x_scale=10.0, "
        "h_scale=5.0, w_scale=5.0} : f32[1,3,4], f32[1,3], f32[1,3], f32[1]\n}");
    EXPECT_EQ(again(graph), graph);
    const TemporaryFolder folder;
    write_onnx(graph, folder / "model.onnx");
    EXPECT_NO_THROW(onnx::checker::check_model((folder / "model.onnx").string()));
    const onnx::ModelProto model = export_model(graph, {}).proto;
    ASSERT_EQ(model.functions_size(), 1);
    for (const onnx::NodeProto& node : model.functions(0).node()) {
      EXPECT_EQ(node.domain(), "") << node.op_type();
    }
    EXPECT_GE(model.ir_version(), 8);  // the first with functions
  }
}

}  // namespace
}  // namespace tare::test
