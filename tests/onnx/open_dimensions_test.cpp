// What a model leaves open stays open: the graph that is read for one choice of extents, and
// the file that is written from it, hold for others.
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/toolkit.h"

#include "onnx/infer_graph.h"
#include "onnx/model_builder.h"
#include "support/message.h"
#include "support/tensors.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Integers = std::vector<std::int64_t>;
using Extents = std::map<std::string, std::int64_t>;

ReadOptions at(const Extents& dims) {
  ReadOptions options;
  options.dims = dims;
  options.evaluate = evaluate;
  options.supported_ops = executable_ops();
  return options;
}

std::size_t count(const Graph& graph, const std::string& op) {
  std::size_t result = 0;
  for (const NodeId id : graph.nodes()) {
    result += graph.node(id).op == op ? 1 : 0;
  }
  return result;
}

/// The extents of `value` along the axes, then constants, as exporters compute shapes.
void view_shape(ModelBuilder& model, const std::string& name, const std::string& value,
                const Integers& axes, const Integers& rest) {
  model.node("Shape", {value}, {name + "_of"});
  std::vector<std::string> parts;
  for (const std::int64_t axis : axes) {
    const std::string part = name + std::to_string(axis);
    model.integers(part + "_index", {axis})
        .node("Gather", {name + "_of", part + "_index"}, {part}, {{"axis", std::int64_t{0}}});
    parts.push_back(part);
  }
  model.integers(name + "_rest", rest);
  parts.push_back(name + "_rest");
  model.node("Concat", parts, {name}, {{"axis", std::int64_t{0}}});
}

/// Scores of 4 heads; its shapes are asked for inside.
ModelBuilder attention() {
  ModelBuilder model(17);
  model.input("x", {"N", "length", 32})
      .constant("wq", normal_tensor({32, 32}, 1))
      .constant("wk", normal_tensor({32, 32}, 2))
      .constant("wo", normal_tensor({32, 8}, 3))
      .node("MatMul", {"x", "wq"}, {"q0"})
      .node("Relu", {"q0"}, {"q"})
      .node("MatMul", {"x", "wk"}, {"k"});
  view_shape(model, "split", "q", {0, 1}, {4, 8});
  view_shape(model, "joined", "q", {0, 1}, {32});
  return model.node("Reshape", {"q", "split"}, {"qs"})
      .node("Reshape", {"k", "split"}, {"ks"})
      .node("Transpose", {"qs"}, {"qt"}, {{"perm", Integers{0, 2, 1, 3}}})
      .node("Transpose", {"ks"}, {"kt"}, {{"perm", Integers{0, 2, 3, 1}}})
      .node("Transpose", {"ks"}, {"vt"}, {{"perm", Integers{0, 2, 1, 3}}})
      .node("MatMul", {"qt", "kt"}, {"scores"})
      .node("Softmax", {"scores"}, {"shares"}, {{"axis", std::int64_t{-1}}})
      .node("MatMul", {"shares", "vt"}, {"sums"})
      .node("Transpose", {"sums"}, {"turned"}, {{"perm", Integers{0, 2, 1, 3}}})
      .node("Reshape", {"turned", "joined"}, {"flat"})
      .node("MatMul", {"flat", "wo"}, {"y"})
      .output("y");
}

/// A small image that grows to the size of a large one inside of the network, as in decoders of
/// segmentation and in feature pyramids.
ModelBuilder pyramid() {
  ModelBuilder model(11);
  model.input("x", {"N", 3, "height", "width"})
      .constant("w1", normal_tensor({4, 3, 3, 3}, 1))
      .constant("w2", normal_tensor({4, 4, 3, 3}, 2))
      .node("Conv", {"x", "w1"}, {"large"}, {{"pads", Integers{1, 1, 1, 1}}})
      .node("Conv", {"large", "w2"}, {"small"},
            {{"pads", Integers{1, 1, 1, 1}}, {"strides", Integers{2, 2}}})
      .node("Shape", {"large"}, {"of_large"})
      .integers("two", {2})
      .integers("four", {4})
      .integers("zero", {0})
      .node("Slice", {"of_large", "two", "four", "zero"}, {"area"})
      .node("Shape", {"small"}, {"of_small"})
      .node("Slice", {"of_small", "zero", "two", "zero"}, {"planes"})
      .node("Concat", {"planes", "area"}, {"sizes"}, {{"axis", std::int64_t{0}}})
      .constant("roi", Tensor(DType::kFloat32, {0}))
      .constant("scales", Tensor(DType::kFloat32, {0}))
      .node("Resize", {"small", "roi", "scales", "sizes"}, {"grown"},
            {{"mode", std::string("nearest")},
             {"coordinate_transformation_mode", std::string("asymmetric")},
             {"nearest_mode", std::string("floor")}})
      .node("Add", {"grown", "large"}, {"y"})
      .output("y");
  return model;
}

/// As tf2onnx writes a dense layer on sequences: for one sample the first Reshape changes
/// nothing.
ModelBuilder tensordot() {
  return ModelBuilder(13)
      .input("x", {"N", 6, 8})
      .constant("w", normal_tensor({8, 4}, 1))
      .integers("rows", {1, -1, 8})
      .integers("first", {0})
      .integers("back", {-1, 6, 4})
      .node("Relu", {"x"}, {"r"})
      .node("Reshape", {"r", "rows"}, {"all"})
      .node("Squeeze", {"all", "first"}, {"matrix"})
      .node("MatMul", {"matrix", "w"}, {"product"})
      .node("Reshape", {"product", "back"}, {"y"})
      .output("y");
}

/// A row of parameters for each sample, and positions for each length.
ModelBuilder expanded() {
  ModelBuilder model(17);
  model.input("x", {"N", "length", 8})
      .constant("class", normal_tensor({1, 1, 8}, 1))
      .constant("table", normal_tensor({64, 8}, 2))
      .node("Relu", {"x"}, {"r"});
  view_shape(model, "one_each", "r", {0}, {1, 8});
  return model.node("Expand", {"class", "one_each"}, {"classes"})
      .node("Concat", {"classes", "r"}, {"tokens"}, {{"axis", std::int64_t{1}}})
      .node("Shape", {"tokens"}, {"of_tokens"})
      .constant("second", Tensor::scalar<std::int64_t>(1))
      .node("Gather", {"of_tokens", "second"}, {"long"}, {{"axis", std::int64_t{0}}})
      .constant("start", Tensor::scalar<std::int64_t>(0))
      .constant("step", Tensor::scalar<std::int64_t>(1))
      .node("Range", {"start", "long", "step"}, {"places"})
      .node("Gather", {"table", "places"}, {"positions"}, {{"axis", std::int64_t{0}}})
      .node("Add", {"tokens", "positions"}, {"y"})
      .output("y");
}

/// Softmax of an early opset over several axes, and groups of channels.
ModelBuilder flattened() {
  return ModelBuilder(11)
      .input("x", {"N", 4, "height", "width"})
      .node("Softmax", {"x"}, {"y"}, {{"axis", std::int64_t{1}}})
      .output("y");
}

ModelBuilder grouped() {
  return ModelBuilder(21)
      .input("x", {"N", 4, "height", "width"})
      .constant("scale", normal_tensor({4}, 1))
      .constant("bias", normal_tensor({4}, 2))
      .node("GroupNormalization", {"x", "scale", "bias"}, {"y"},
            {{"num_groups", std::int64_t{2}}})
      .output("y");
}

struct Case {
  const char* name;
  ModelBuilder (*model)();
  Extents here;
  Extents there;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class OpenDimensions : public testing::TestWithParam<Case> {
 protected:
  std::vector<Tensor> inputs_for(const Graph& graph) const {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) {
      inputs.push_back(normal_tensor(graph.type(id).shape, 9));
    }
    return inputs;
  }
  Graph original(const Extents& extents) const { return GetParam().model().read(at(extents)); }
  /// What `graph` is when it is written down and read again.
  Graph again(const Graph& graph, const Extents& extents) const {
    const std::filesystem::path path = folder_ / "written.onnx";
    write_onnx(graph, path);
    return read_onnx(path, at(extents));
  }

  TemporaryFolder folder_;
};

TEST_P(OpenDimensions, OfPreparedGraphsHoldForOtherExtents) {
  const Graph prepared = prepare(original(GetParam().here), Toolkit::builtin());
  EXPECT_TRUE(prepared.fixed_dimensions.empty());
  for (const Extents& extents : {GetParam().here, GetParam().there}) {
    const Graph written = again(prepared, extents);
    const Graph wanted = original(extents);
    const std::vector<Tensor> inputs = inputs_for(wanted);
    const Tensor expected = Executable(wanted, {.precise = true}).run(inputs)[0];
    const Tensor found = Executable(written, {.precise = true}).run(inputs)[0];
    ASSERT_EQ(found.shape(), expected.shape());
    const auto a = expected.to_float();
    const auto b = found.to_float();
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-5F * (1 + std::abs(a[i]))) << i;
    }
  }
}

TEST_P(OpenDimensions, AreInferredAsTheyAreRead) {
  const Graph here = original(GetParam().here);
  const Graph there = original(GetParam().there);
  std::map<ValueId, Shape> inputs;
  for (std::size_t i = 0; i < here.inputs().size(); ++i) {
    inputs.emplace(here.inputs()[i], there.type(there.inputs()[i]).shape);
  }
  const InferredValues inferred = infer_graph(here, inputs, evaluate);
  for (const auto& [id, shape] : inferred.shapes) {
    if (const auto same = there.find_value(here.name(id))) {
      EXPECT_EQ(shape, there.type(*same).shape) << here.name(id);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, OpenDimensions,
    testing::Values(
        Case{"attention", attention, {{"N", 1}, {"length", 6}}, {{"N", 3}, {"length", 11}}},
        Case{"pyramid",
             pyramid,
             {{"N", 1}, {"height", 8}, {"width", 12}},
             {{"N", 2}, {"height", 15}, {"width", 7}}},
        Case{"tensordot", tensordot, {{"N", 1}}, {{"N", 5}}},
        Case{"expanded", expanded, {{"N", 1}, {"length", 6}}, {{"N", 2}, {"length", 13}}},
        Case{"flattened",
             flattened,
             {{"N", 1}, {"height", 4}, {"width", 4}},
             {{"N", 2}, {"height", 3}, {"width", 5}}},
        Case{"grouped",
             grouped,
             {{"N", 1}, {"height", 4}, {"width", 4}},
             {{"N", 2}, {"height", 3}, {"width", 5}}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ShapesInGraphs, BecomeTargetsThatCopyExtents) {
  const Graph graph = attention().read(at({{"length", 6}}));
  EXPECT_EQ(count(graph, "Shape"), 0U);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op == "Reshape") {
      const auto target = constant_integers(graph, node, 1).value();
      EXPECT_EQ(target, target.size() == 4 ? (Integers{0, 0, 4, 8}) : (Integers{0, 0, 32}));
    }
  }
}

TEST(ShapesInGraphs, AreAskedOfInputsWhereExtentsAreTheirs) {
  const Graph graph = expanded().read(at({{"length", 6}}));
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    // The tokens are one more than the input is long.
    EXPECT_TRUE(node.op != "Shape" || graph.is_input(node.inputs[0]) ||
                graph.name(node.inputs[0]) == "tokens");
  }
}

TEST(ShapesInGraphs, AreConstantsWhereNoExtentChangesThem) {
  ModelBuilder model(17);
  model.input("x", {"N", 8}).input("z", {1, 1, 1});
  view_shape(model, "target", "x", {1}, {1, 1});
  model.node("Expand", {"z", "target"}, {"y"}).output("y");
  const Graph graph = model.read(at({}));
  EXPECT_EQ(count(graph, "Shape"), 0U);
  EXPECT_EQ(operand(graph, "Expand", 1), Tensor::of<std::int64_t>({3}, Integers{8, 1, 1}));
}

TEST(FixedDimensions, AreThoseThatTheNetworkFixes) {
  ModelBuilder model(13);
  model.input("x", {"N", "length", 8})
      .constant("positions", normal_tensor({6, 8}, 1))
      .node("Add", {"x", "positions"}, {"y"})
      .output("y");
  const Graph graph = model.read(at({{"length", 6}}));
  EXPECT_EQ(graph.dimension_names.at("x"), (std::vector<std::string>{"N", "", ""}));
  EXPECT_EQ(graph.fixed_dimensions, (Extents{{"length", 6}}));
}

TEST(FixedDimensions, AreFoundAmongOthers) {
  ModelBuilder model(13);
  model.constant("rows", normal_tensor({3, 4}, 1));
  for (const std::string name : {"a", "b", "c", "d", "e"}) {
    const std::string symbol = "n_" + name;
    model.input(name, {Dim(symbol.c_str()), 4}).output(name + "_y");
    model.node("Add", {name, name == "c" ? "rows" : name}, {name + "_y"});
  }
  const Graph graph =
      model.read(at({{"n_a", 3}, {"n_b", 3}, {"n_c", 3}, {"n_d", 1}, {"n_e", 3}}));
  EXPECT_EQ(graph.fixed_dimensions, (Extents{{"n_c", 3}}));
  EXPECT_EQ(graph.dimension_names.at("e"), (std::vector<std::string>{"n_e", ""}));
}

TEST(FixedDimensions, MayBeAll) {
  ModelBuilder model(13);
  model.input("x", {"N", 8})
      .integers("target", {1, 2, 4})
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y");
  const Graph graph = model.read(at({}));
  EXPECT_TRUE(graph.dimension_names.empty());
  EXPECT_EQ(graph.fixed_dimensions, (Extents{{"N", 1}}));
}

TEST(FixedDimensions, AreThoseOnWhichPadsOfStridedWindowsDepend) {
  ModelBuilder model(13);
  model.input("x", {"N", 1, "width"})
      .constant("w", normal_tensor({1, 1, 3}, 1))
      .node("Conv", {"x", "w"}, {"y"},
            {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Integers{2}}})
      .output("y");
  EXPECT_EQ(model.read(at({{"width", 8}})).fixed_dimensions, (Extents{{"width", 8}}));
}

/// One operator or another on x of [N,length], by comparing the length with 6.
ModelBuilder branching(const char* comparison) {
  ModelBuilder model(13);
  model.input("x", {"N", "length"})
      .node("Shape", {"x"}, {"of_x"})
      .constant("second", Tensor::scalar<std::int64_t>(1))
      .node("Gather", {"of_x", "second"}, {"length"}, {{"axis", std::int64_t{0}}})
      .constant("six", Tensor::scalar<std::int64_t>(6))
      .node(comparison, {"length", "six"}, {"decides"})
      .node("If", {"decides"}, {"y"})
      .output("y");
  for (const char* name : {"then_branch", "else_branch"}) {
    ModelBuilder branch(13);
    branch.node(name[0] == 't' ? "Relu" : "Neg", {"x"}, {std::string(name) + "_y"})
        .output(std::string(name) + "_y");
    auto& attribute = *model.last().add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = branch.graph();
  }
  return model;
}

TEST(FixedDimensions, AreThoseThatDecideBranches) {
  EXPECT_EQ(branching("Equal").read(at({{"length", 6}})).fixed_dimensions,
            (Extents{{"length", 6}}));
}

TEST(FixedDimensions, AreThoseOfAProductThatStaysTheSameByChance) {
  ModelBuilder model(13);
  model.input("x", {1, "H", "W"})
      .integers("target", {1, -1})
      .node("Reshape", {"x", "target"}, {"row"})
      .constant("four", normal_tensor({1, 4}, 1))
      .node("Add", {"row", "four"}, {"y"})
      .output("y");
  // 4 * 1 is 2 * 2.
  EXPECT_EQ(model.read(at({{"H", 4}, {"W", 1}})).fixed_dimensions,
            (Extents{{"H", 4}, {"W", 1}}));
}

TEST(Reshaping, IsRefusedWhereAnotherBranchWouldBeTaken) {
  const Graph graph = branching("Greater").read(at({{"length", 20}}));
  ASSERT_TRUE(graph.fixed_dimensions.empty());
  ASSERT_TRUE(graph.reshape);
  const auto reshaped = [&](std::int64_t length) {
    const Shape shape{2, length};
    return (*graph.reshape)(graph, std::span(&shape, 1));
  };
  EXPECT_EQ(reshaped(7).type(graph.outputs()[0]).shape, (Shape{2, 7}));
  EXPECT_EQ(message_of([&] { return reshaped(6); }, ErrorCode::kUnsupported),
            "value 'decides': decides which network the model is, and decides otherwise for "
            "these inputs");
}

}  // namespace
}  // namespace tare::test
