// The tail of a model: what its graph cannot hold is found, refused where calibration would
// need it, written as it was, and run on values that are known.
#include "tare/execute.h"

#include "onnx/model_builder.h"
#include "support/message.h"
#include "support/tensors.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Names = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

ReadOptions keeping() {
  ReadOptions options;
  options.supported_ops = executable_ops();
  options.evaluate = evaluate;
  options.keeps_tail = true;
  return options;
}

/// A convolution of x, with result c of [1,2,4,4].
ModelBuilder network(int opset = 13) {
  ModelBuilder model(opset);
  model.input("x", {1, 3, 4, 4})
      .constant("w", normal_tensor({2, 3, 1, 1}, 1))
      .node("Conv", {"x", "w"}, {"c"});
  return model;
}

void in_domain(ModelBuilder& model, const std::string& domain) {
  model.last().set_domain(domain);
  auto& entry = *model.proto().add_opset_import();
  entry.set_domain(domain);
  entry.set_version(3);
}

/// The same with an operator of somebody else behind, and one of ONNX behind that.
ModelBuilder with_unknown_end(int opset = 13) {
  ModelBuilder model = network(opset);
  model.node("Frobnicate", {"c"}, {"f"}, {{"strength", std::int64_t{2}}});
  in_domain(model, "com.example");
  model.node("Sigmoid", {"f"}, {"y"}).output("y").output("c");
  return model;
}

/// Positions of c that are above 0, and their number.
ModelBuilder with_positions() {
  ModelBuilder model = network();
  model.constant("zero", Tensor::scalar(0.F))
      .node("Greater", {"c", "zero"}, {"above"})
      .node("NonZero", {"above"}, {"where"})
      .node("Transpose", {"where"}, {"rows"})
      .node("GatherND", {"c", "rows"}, {"values"})
      .output("rows")
      .output("values");
  return model;
}

Names names_of(const Graph& graph, std::span<const ValueId> values) {
  Names names;
  for (const ValueId id : values) {
    names.push_back(graph.name(id));
  }
  return names;
}

Names operators_of(const Tail& tail) {
  Names names;
  for (const Tail::Operator& each : tail.operators) {
    names.push_back(each.op);
  }
  return names;
}

/// The model as it is written, and read by ONNX's own parser.
onnx::ModelProto written(const Graph& graph) {
  const TemporaryFolder folder;
  write_onnx(graph, folder / "model.onnx");
  return load(folder / "model.onnx");
}

Names outputs_of(const onnx::ModelProto& model) {
  Names names;
  for (const auto& output : model.graph().output()) {
    names.push_back(output.name());
  }
  return names;
}

onnx::NodeProto node_of(const onnx::ModelProto& model, const std::string& op) {
  const auto& nodes = model.graph().node();
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const auto& node) { return node.op_type() == op; });
  EXPECT_NE(found, nodes.end()) << op;
  return found == nodes.end() ? onnx::NodeProto::default_instance() : *found;
}

std::map<std::string, Tensor> run_tail(const Graph& graph, const Tensor& x) {
  std::map<std::string, Tensor> values{{"x", x}};
  const std::vector<Tensor> outputs = Executable(graph).run(std::vector{x});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    values.emplace(graph.name(graph.outputs()[i]), outputs[i]);
  }
  return TailRunner(*graph.tail).run(values, evaluate);
}

TEST(Tail, HoldsUnknownOperatorsAndWhatReadsThem) {
  const Graph graph = with_unknown_end().read(keeping());
  EXPECT_EQ(operators(graph), (Names{"Conv"}));
  ASSERT_TRUE(graph.tail);
  EXPECT_EQ(operators_of(*graph.tail), (Names{"com.example.Frobnicate", "Sigmoid"}));
  EXPECT_EQ(graph.tail->operators[0].reason,
            "operator 'com.example.Frobnicate' is not supported");
  EXPECT_EQ(graph.tail->operators[1].reason, "");
  EXPECT_EQ(graph.tail->inputs, (Names{"c"}));
  EXPECT_EQ(names_of(graph, graph.outputs()), (Names{"c"}));
  EXPECT_EQ(model_outputs(graph), (Names{"y", "c"}));
}

TEST(Tail, IsWrittenAsItWas) {
  const onnx::ModelProto model = written(with_unknown_end().read(keeping()));
  EXPECT_EQ(outputs_of(model), (Names{"y", "c"}));
  const onnx::NodeProto node = node_of(model, "Frobnicate");
  EXPECT_EQ(node.domain(), "com.example");
  EXPECT_EQ(node.input(0), "c");
  EXPECT_EQ(node.attribute(0).i(), 2);
  const auto& domains = model.opset_import();
  EXPECT_TRUE(std::any_of(domains.begin(), domains.end(), [](const auto& entry) {
    return entry.domain() == "com.example" && entry.version() == 3;
  }));
}

TEST(Tail, IsReadBackFromWhatWasWritten) {
  const TemporaryFolder folder;
  const Graph graph = with_unknown_end().read(keeping());
  write_onnx(graph, folder / "model.onnx");
  const Graph again = read_onnx(folder / "model.onnx", keeping());
  EXPECT_EQ(again, graph);
  ASSERT_TRUE(again.tail);
  EXPECT_EQ(operators_of(*again.tail), operators_of(*graph.tail));
  EXPECT_EQ(again.tail->outputs, graph.tail->outputs);
}

TEST(Tail, IsRefusedWhereItWasNotAskedFor) {
  EXPECT_EQ(complaint(with_unknown_end()),
            "operator 'com.example.Frobnicate' is not supported (node 'Frobnicate_f')");
}

TEST(Tail, HasNoLayersBehindWhatCannotBeComputed) {
  ModelBuilder model = with_unknown_end();
  model.constant("v", normal_tensor({4, 2, 1, 1}, 2))
      .node("Conv", {"y", "v"}, {"deep"})
      .node("Grind", {"deep"}, {"z"})
      .output("z");
  EXPECT_EQ(complaint(model, keeping()),
            "operator 'com.example.Frobnicate' is not supported (node 'Frobnicate_f')\n"
            "operator 'Grind' is not supported (node 'Grind_z')");
}

TEST(Tail, HasANetworkBeforeIt) {
  ModelBuilder model(13);
  model.input("x", {4}).node("Grind", {"x"}, {"y"}).output("y");
  EXPECT_EQ(complaint(model, keeping()), "operator 'Grind' is not supported (node 'Grind_y')");
}

TEST(Tail, MayBeALearnedModelOfAnotherKind) {
  ModelBuilder model = network();
  model.node("Flatten", {"c"}, {"features"})
      .node("TreeEnsembleClassifier", {"features"}, {"label", "scores"});
  in_domain(model, "ai.onnx.ml");
  model.output("label").output("scores");
  const Graph graph = model.read(keeping());
  ASSERT_TRUE(graph.tail);
  EXPECT_EQ(graph.tail->inputs, (Names{"features"}));
}

TEST(Tail, LeavesOutWhatNobodyReads) {
  ModelBuilder model = network();
  model.node("Grind", {"c"}, {"ground"}).output("c");
  const Graph graph = model.read(keeping());
  EXPECT_FALSE(graph.tail);
  EXPECT_EQ(operators(graph), (Names{"Conv"}));
}

TEST(Tail, HoldsConstantsOfText) {
  ModelBuilder model = network();
  auto& labels = *model.graph().add_initializer();
  labels.set_name("labels");
  labels.set_data_type(onnx::TensorProto::STRING);
  labels.add_dims(2);
  labels.add_string_data("cat");
  labels.add_string_data("dog");
  model.node("ReduceMean", {"c"}, {"mean"}, {{"axes", Integers{2, 3}}})
      .node("ArgMax", {"mean"}, {"best"}, {{"axis", std::int64_t{1}}})
      .node("Gather", {"labels", "best"}, {"label"})
      .output("label");
  const Graph graph = model.read(keeping());
  EXPECT_EQ(names_of(graph, graph.outputs()), (Names{"mean"}));
  const onnx::NodeProto constant = node_of(written(graph), "Constant");
  EXPECT_EQ(constant.attribute(0).t().string_data(1), "dog");
}

TEST(Tail, BeginsWithWhatIsNotRealAndItAloneReads) {
  const Graph graph = with_positions().read(keeping());
  ASSERT_TRUE(graph.tail);
  EXPECT_EQ(operators_of(*graph.tail), (Names{"Greater", "NonZero", "Transpose", "GatherND"}));
  EXPECT_EQ(names_of(graph, graph.outputs()), (Names{"c"}));
  ModelBuilder read_twice = with_positions();
  read_twice.output("above");
  const Graph other = read_twice.read(keeping());
  EXPECT_EQ(names_of(other, other.outputs()), (Names{"above", "c"}));
}

TEST(Tail, BeginsWithWhatFollowsFromShapesOfInputs) {
  ModelBuilder model(13);
  model.input("x", {1, 3, "height", 4})
      .constant("w", normal_tensor({2, 3, 1, 1}, 1))
      .constant("two", Tensor::scalar<std::int64_t>(2))
      .node("Conv", {"x", "w"}, {"c"})
      .node("NonZero", {"c"}, {"where"})
      .node("Shape", {"x"}, {"extents"})
      .node("Gather", {"extents", "two"}, {"height"})
      .node("Mul", {"where", "height"}, {"y"})
      .output("y");
  ReadOptions options = keeping();
  options.dims["height"] = 5;
  const Graph graph = model.read(options);
  ASSERT_TRUE(graph.tail);
  EXPECT_EQ(operators_of(*graph.tail), (Names{"NonZero", "Shape", "Gather", "Mul"}));
  EXPECT_EQ(graph.tail->inputs, (Names{"c", "x"}));
  EXPECT_EQ(names_of(graph, graph.outputs()), (Names{"c"}));
}

TEST(Tail, GivesResultsOfTheShapesThatItsValuesHave) {
  const Graph graph = with_positions().read(keeping());
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Tensor x = normal_tensor({1, 3, 4, 4}, seed);
    const Tensor c = Executable(graph).run(std::vector{x})[0];
    std::vector<float> above;
    for (const float value : c.view<float>()) {
      if (value > 0) {
        above.push_back(value);
      }
    }
    const auto results = run_tail(graph, x);
    EXPECT_EQ(results.at("values").to_float(), above);
    EXPECT_EQ(results.at("rows").shape(), (Shape{static_cast<std::int64_t>(above.size()), 4}));
  }
}

TEST(Tail, GivesNothingForWhatCannotBeComputed) {
  const Graph graph = with_unknown_end().read(keeping());
  EXPECT_TRUE(run_tail(graph, normal_tensor({1, 3, 4, 4}, 1)).empty());
}

TEST(Tail, IsRaisedToTheOpsetOfTheFile) {
  ModelBuilder model = network(9);
  model.node("Grind", {"c"}, {"ground"})
      .node("Softmax", {"ground"}, {"scores"}, {{"axis", std::int64_t{2}}})
      .node("Squeeze", {"scores"}, {"flat"}, {{"axes", Integers{0}}})
      .node("Clip", {"flat"}, {"y"}, {{"max", 0.5F}})
      .output("y");
  const onnx::ModelProto file = written(model.read(keeping()));
  EXPECT_EQ(file.opset_import(0).version(), 13);
  // Softmax was one over all axes from its own on.
  EXPECT_EQ(node_of(file, "Flatten").attribute(0).i(), 2);
  EXPECT_EQ(node_of(file, "Softmax").attribute(0).i(), -1);
  EXPECT_EQ(node_of(file, "Reshape").output(0), "scores");
  EXPECT_EQ(node_of(file, "Squeeze").input_size(), 2);
  EXPECT_EQ(node_of(file, "Squeeze").attribute_size(), 0);
  const onnx::NodeProto clip = node_of(file, "Clip");
  ASSERT_EQ(clip.input_size(), 3);
  EXPECT_EQ(clip.input(1), "");
}

TEST(Tail, KeepsAnOpsetThatAloneHasItsOperators) {
  ModelBuilder model = network(24);
  model.node("Grind", {"c"}, {"ground"}).node("Swish", {"ground"}, {"y"}).output("y");
  EXPECT_EQ(written(model.read(keeping())).opset_import(0).version(), 24);
  ModelBuilder plain = network(24);
  plain.node("Grind", {"c"}, {"ground"}).node("Sigmoid", {"ground"}, {"y"}).output("y");
  EXPECT_EQ(written(plain.read(keeping())).opset_import(0).version(), 21);
}

/// Counts up while i * i < limit, or without end, and collects the squares.
ModelBuilder counting(bool has_end = true) {
  ModelBuilder model = network();
  onnx::GraphProto body =
      inner_graph({"i", "on", "last"},
                  {{"Mul", {"i", "i"}, "square"},
                   has_end ? InnerNode{"Less", {"square", "limit"}, "below"}
                           : InnerNode{"Equal", {"limit", "limit"}, "below"},
                   {"Concat", {"last", "count_so_far"}, "longer"}},
                  {"below", "longer", "square"});
  onnx::AttributeProto& axis = *body.mutable_node(2)->add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  model.constant("yes", Tensor::scalar(true))
      .integers("count_so_far", {7})
      .constant("none", Tensor(DType::kInt64, {0}))
      .node("ReduceMax", {"c"}, {"most"}, {{"keepdims", std::int64_t{0}}})
      .node("Cast", {"most"}, {"limit"}, {{"to", std::int64_t{7}}})
      .node("Loop", {"", "yes", "none"}, {"sevens", "squares"});
  set_body(model.last(), body);
  model.output("sevens").output("squares");
  return model;
}

TEST(Tail, RunsLoopsWhoseEndDependsOnData) {
  const Graph graph = counting().read(keeping());
  Tensor x(DType::kFloat32, {1, 3, 4, 4});
  for (float& value : x.mutable_view<float>()) {
    value = 100;
  }
  const Tensor c = Executable(graph).run(std::vector{x})[0];
  const auto limit = static_cast<std::int64_t>(c.to_float()[0]);
  Integers squares;
  for (std::int64_t i = 0; squares.empty() || squares.back() < limit; ++i) {
    squares.push_back(i * i);
  }
  const auto results = run_tail(graph, x);
  EXPECT_EQ(results.at("squares").to_int64(), squares);
  EXPECT_EQ(results.at("sevens").to_int64(), Integers(squares.size(), 7));
}

/// Each iteration makes values that are larger than those of the one before.
TEST(Tail, StopsLoopsWithoutEndBeforeTheyTakeAllMemory) {
  const Graph graph = counting(false).read(keeping());
  const std::string text = message_of(
      [&] {
        return run_tail(graph, normal_tensor({1, 3, 4, 4}, 1));
      },
      ErrorCode::kInvalidData);
  EXPECT_NE(text.find("more than 1 GiB"), std::string::npos) << text;
}

}  // namespace
}  // namespace tare::test
