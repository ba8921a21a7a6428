#include "tare/error.h"
#include "tare/execute.h"

#include "support/graphs.h"
#include "support/random/random.h"
#include "support/tensors.h"

#include <cstring>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Executable, RunsAConvolutionFollowedByAProduct) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 3, 3}));
  const ValueId w = graph.add_constant("w", ones({4, 2, 3, 3}));
  const NodeId conv = graph.add_node("", "Conv", {x, w}, {{"y", f32({1, 4, 1, 1})}});
  const ValueId v = graph.add_constant("v", ones({1, 5}));
  const NodeId product = graph.add_node("", "MatMul", {graph.node(conv).outputs[0], v},
                                        {{"z", f32({1, 4, 1, 5})}});
  graph.set_outputs(graph.node(product).outputs);
  const auto result = Executable(graph).run(std::vector{ones({1, 2, 3, 3})});
  ASSERT_EQ(result.size(), 1U);
  EXPECT_EQ(result[0].to_float(), std::vector<float>(20, 18.F));
}

TEST(Executable, HasNothingToDoWhereResultsHaveNoElementsHoweverLargeTheirOtherExtents) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[0,4]) -> (%y) {\n"
      "const %pads : i64[4] = [0, 0, 0, 1099511627772]\n"
      "%y = Pad(%x, %pads) : f32[0,1099511627776]\n}");
  const auto result = Executable(graph).run(std::vector{Tensor(DType::kFloat32, {0, 4})});
  EXPECT_EQ(result[0].shape(), (Shape{0, std::int64_t{1} << 40}));
}

TEST(Executable, ChangesNoLayoutOfWhatHasNoElementsHoweverLargeItsOtherExtents) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : i8[17179869184,0,3,2]) -> (%y) {\n"
      "%y = MaxPool(%x) {kernel_shape=[2, 2]} : i8[17179869184,0,2,1]\n}");
  const Tensor none(DType::kInt8, {std::int64_t{1} << 34, 0, 3, 2});
  const auto result = Executable(graph).run(std::vector{none});
  EXPECT_EQ(result[0].shape(), (Shape{std::int64_t{1} << 34, 0, 2, 1}));
}

TEST(Executable, TakesInputsInTheOrderInWhichItShowsValues) {
  // One half of a network shows what the other half takes.
  Random random(3);
  const Shape shape{1, 8, 5, 5};
  const auto half = [&](const ExecuteOptions& options) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32(shape));
    const ValueId w = graph.add_constant("w", Random(4).tensor({8, 8, 3, 3}));
    const ValueId y =
        add(graph, "Conv", {x, w}, shape, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    graph.set_outputs({y});
    ExecuteOptions with = options;
    with.observe = {y};
    return Executable(graph, with);
  };
  const Tensor x = random.tensor(shape);
  const Executable first = half({});
  ASSERT_TRUE(first.shows_channels_last(0)) << "oneDNN's layout";
  Tensor shown(DType::kFloat32, shape);
  Executable::Workspace workspace(first);
  const Tensor middle = first.run(workspace, {&x, 1}, [&](std::size_t, const TensorView& view) {
    ASSERT_TRUE(view.channels_last);
    std::memcpy(shown.mutable_data(), view.data, shown.byte_size());
  })[0];
  ASSERT_NE(shown, middle);
  const Executable second = half({.observe = {}, .channels_last = {ValueId{0}}});
  EXPECT_EQ(second.run({&shown, 1})[0], half({}).run({&middle, 1})[0]);
}

TEST(Executable, PacksWeightsOnceForLayersThatAreThereTwice) {
  const Shape shape{1, 8, 5, 5};
  const auto pads = std::vector<std::int64_t>{1, 1, 1, 1};
  const auto network = [&](std::size_t layers, const char* strides) {
    Graph graph;
    const ValueId w = graph.add_constant("w", Random(4).tensor({8, 8, 3, 3}));
    std::vector<ValueId> outputs;
    for (std::size_t i = 0; i < layers; ++i) {
      const ValueId x = graph.add_input("x" + std::to_string(i), f32(shape));
      Attributes attributes{{"pads", pads}};
      if (i > 0 && strides != nullptr) {
        attributes.set(strides, std::vector<std::int64_t>{2, 2});
      }
      outputs.push_back(
          add(graph, "Conv", {x, w}, i > 0 && strides ? Shape{1, 8, 3, 3} : shape, attributes));
    }
    graph.set_outputs(outputs);
    return graph;
  };
  const Graph twice = network(2, nullptr);
  const Executable one(network(1, nullptr));
  const Executable two(twice);
  EXPECT_GT(one.constant_bytes(), 0U);
  EXPECT_EQ(two.constant_bytes(), one.constant_bytes());
  const std::vector<Tensor> inputs{Random(1).tensor(shape), Random(2).tensor(shape)};
  const std::vector<Tensor> results = two.run(inputs);
  EXPECT_EQ(results[0], one.run(std::vector{inputs[0]})[0]);
  EXPECT_EQ(results[1], one.run(std::vector{inputs[1]})[0]);
  EXPECT_GT(Executable(network(2, "strides")).constant_bytes(), one.constant_bytes())
      << "another layer, though of the same weights";
}

TEST(Executable, NamesEveryNodeWithoutAKernel) {
  Graph graph;
  const ValueId x = graph.add_input("x", typed(DType::kInt8, {2, 3}));
  const NodeId a = graph.add_node("a", "NoSuchOperator", {x}, {{"y", f32({2, 3})}});
  const NodeId b =
      graph.add_node("b", "MatMul", {graph.node(a).outputs[0], x}, {{"z", f32({2, 3})}});
  graph.set_outputs(graph.node(b).outputs);
  try {
    Executable executable(graph);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    ASSERT_EQ(error.faults().size(), 2U);
    EXPECT_EQ(error.faults()[0].where, "node 'a' (NoSuchOperator)");
    EXPECT_EQ(error.faults()[0].what, "no kernel for this operator");
    EXPECT_EQ(error.faults()[1].where, "node 'b' (MatMul)");
    EXPECT_EQ(error.faults()[1].what, "no kernel for types (f32[2,3], i8[2,3])");
  }
}

}  // namespace
}  // namespace tare::test
