#include "execute/compile/program.h"
#include "support/graphs.h"
#include "support/random/random_network.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What each value of the graph is, one node after another.
std::map<ValueId, Tensor> evaluate_all(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs()[i]] = inputs[i];
  }
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    std::vector<const Tensor*> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(graph.constant(operand) != nullptr ? graph.constant(operand)
                                                            : &values.at(operand));
    }
    const TensorType type = graph.type(node.outputs[0]);
    values[node.outputs[0]] = evaluate(node, operands, std::span(&type, 1))[0];
  }
  return values;
}

float largest_magnitude(const Tensor& tensor) {
  float largest = 0;
  for (const float x : tensor.view<float>()) {
    largest = std::max(largest, std::abs(x));
  }
  return largest;
}

/// Both sides do the same float operations on the same numbers; only a product of matrices
/// whose right side is computed may sum in another order, and there is none.
TEST(ValueCallback, SeesWhatEachNodeComputesAlone) {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    const Graph graph = random_network(random, 15);
    const std::vector<Tensor> inputs = random_inputs(graph, random);
    const std::map<ValueId, Tensor> expected = evaluate_all(graph, inputs);
    ExecuteOptions options;
    options.observe = graph.values();
    const Executable executable(graph, options);
    Executable::Workspace workspace(executable);
    std::vector<int> observed(options.observe.size(), 0);
    executable.run(workspace, inputs, [&](std::size_t index, const TensorView& view) {
      const ValueId id = options.observe[index];
      const Tensor* constant = graph.constant(id);
      EXPECT_EQ(view.tensor(), constant != nullptr ? *constant : expected.at(id))
          << graph.name(id);
      ++observed[index];
    });
    EXPECT_EQ(observed, std::vector<int>(observed.size(), 1));
  }
}

/// Fusing leaves out roundings to memory only, which float32 does not have; what may differ is
/// the last bit of each sum of bias and residual, grown by at most the layers behind it.
TEST(Fusion, ChangesNothingButRounding) {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    const Graph graph = random_network(random, 15);
    const std::vector<Tensor> inputs = random_inputs(graph, random);
    const std::map<ValueId, Tensor> expected = evaluate_all(graph, inputs);
    for (const bool precise : {false, true}) {
      const Executable executable(graph, {.observe = {}, .precise = precise});
      const std::vector<Tensor> results = executable.run(inputs);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Tensor& wanted = expected.at(graph.outputs()[i]);
        const float bound = 1e-5F * largest_magnitude(wanted);
        for (std::size_t j = 0; j < static_cast<std::size_t>(wanted.size()); ++j) {
          ASSERT_NEAR(results[i].view<float>()[j], wanted.view<float>()[j], bound);
        }
      }
    }
  }
}

struct Residual {
  Graph graph;
  ValueId convolved;
  ValueId sum;
};

/// relu(conv(x) + x)
Residual residual(Random& random, std::size_t axes = 2) {
  Residual result;
  Graph& graph = result.graph;
  Shape shape{1, 6};
  Shape weights{6, 6};
  shape.resize(2 + axes, 5);
  weights.resize(2 + axes, 1);
  const ValueId x = graph.add_input("x", f32(shape));
  const ValueId w = graph.add_constant("w", random.tensor(weights));
  const ValueId b = graph.add_constant("b", random.tensor({6}));
  result.convolved = add(graph, "Conv", {x, w, b}, shape);
  result.sum = add(graph, "Add", {x, result.convolved}, shape);
  graph.set_outputs({add(graph, "Relu", {result.sum}, shape)});
  return result;
}

std::size_t node_steps(const Graph& graph, const ExecuteOptions& options) {
  std::size_t count = 0;
  for (const Step& step : compile(graph, options).steps) {
    count += step.where.starts_with("node") ? 1 : 0;
  }
  return count;
}

TEST(Fusion, MakesAResidualBlockOneStep) {
  Random random(3);
  EXPECT_EQ(node_steps(residual(random).graph, {}), 1U);
}

TEST(Fusion, AddsResidualsOfEveryRank) {
  for (const std::size_t axes : {1U, 2U, 3U}) {
    Random random(5);
    const Graph graph = residual(random, axes).graph;
    const std::vector<Tensor> inputs = random_inputs(graph, random);
    const Tensor expected = evaluate_all(graph, inputs).at(graph.outputs()[0]);
    const Tensor result = Executable(graph).run(inputs).at(0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(expected.size()); ++i) {
      // Sums of eight terms below 4 in any order.
      ASSERT_NEAR(result.view<float>()[i], expected.view<float>()[i], 8 * 8 * 4 * 0x1p-23)
          << axes << " spatial axes";
    }
  }
}

TEST(Fusion, LeavesObservedValuesVisible) {
  Random random(4);
  const Residual block = residual(random);
  EXPECT_EQ(node_steps(block.graph, {.observe = {block.sum}}), 2U);
  EXPECT_EQ(node_steps(block.graph, {.observe = {block.convolved, block.sum}}), 3U);
}

/// What a layer on storage values becomes in a simulated graph: accumulators that count steps,
/// their real values, Relu.
Graph simulated_layer(const std::string& op, Shape input, Shape weights, Shape result, int axis,
                      Attributes attributes = {}) {
  Random random(6);
  Graph graph;
  const auto integers = [&](Shape shape) {
    Tensor tensor(DType::kFloat32, std::move(shape));
    for (float& x : tensor.mutable_view<float>()) {
      x = static_cast<float>(random.integer(-127, 127));
    }
    return tensor;
  };
  const ValueId x = graph.add_input("x", f32(std::move(input)));
  const ValueId w = graph.add_constant("w", integers(std::move(weights)));
  TensorType counted = f32(result);
  counted.point = "x*w";
  counted.quant = QuantParams{.storage = DType::kInt32, .axis = axis};
  counted.quant->scale = std::vector<float>(
      static_cast<std::size_t>(result[static_cast<std::size_t>(axis)]), 0.0F);
  counted.quant->zero_point = std::vector<std::int32_t>(counted.quant->scale.size());
  for (float& scale : counted.quant->scale.mutable_view()) {
    scale = static_cast<float>(random.integer(1, 1000)) / 700.F;
  }
  const NodeId layer =
      graph.add_node("layer", op, {x, w}, {{"counted", counted}}, std::move(attributes));
  const ValueId real =
      add(graph, "SimulatedDequantize", {graph.node(layer).outputs[0]}, result);
  graph.set_outputs({add(graph, "Relu", {real}, result)});
  return graph;
}

/// Sums of few integers are exact in float32, so one multiplication is all that rounds.
TEST(Fusion, ScalesAccumulatorsExactlyAsANodeOfItsOwnDoes) {
  struct Case {
    Graph graph;
    std::size_t steps;
  };
  const std::vector<Case> cases{
      {simulated_layer("Conv", {1, 8, 5, 5}, {16, 8, 3, 3}, {1, 16, 3, 3}, 1), 1},
      {simulated_layer("Conv", {1, 8, 5, 5}, {8, 1, 3, 3}, {1, 8, 3, 3}, 1,
                       {{"group", std::int64_t{8}}}),
       1},
      {simulated_layer("Conv", {1, 4, 9}, {6, 4, 3}, {1, 6, 7}, 1), 1},
      {simulated_layer("Conv", {1, 4, 5, 5, 5}, {6, 4, 3, 3, 3}, {1, 6, 3, 3, 3}, 1), 1},
      {simulated_layer("Gemm", {3, 16}, {16, 5}, {3, 5}, 1), 1},
      {simulated_layer("MatMul", {2, 3, 16}, {16, 5}, {2, 3, 5}, 2), 1}};
  for (const Case& c : cases) {
    Random random(7);
    Tensor x(DType::kFloat32, c.graph.type(c.graph.inputs()[0]).shape);
    for (float& value : x.mutable_view<float>()) {
      value = static_cast<float>(random.integer(0, 255));
    }
    const Node& layer = c.graph.node(*c.graph.find_node("layer"));
    EXPECT_EQ(node_steps(c.graph, {}), c.steps) << layer.op << print(c.graph, 4);
    const Executable one_by_one(
        c.graph, {.observe = {layer.outputs[0], *c.graph.find_value("SimulatedDequantize")}});
    EXPECT_EQ(Executable(c.graph).run({&x, 1})[0], one_by_one.run({&x, 1})[0]) << layer.op;
  }
}

TEST(Fusion, LeavesAddToADepthwiseConvolutionAlone) {
  Random random(5);
  Graph graph;
  const Shape shape{1, 16, 5, 5};
  const ValueId x = graph.add_input("x", f32(shape));
  const ValueId w = graph.add_constant("w", random.tensor({16, 1, 1, 1}));
  const ValueId y = add(graph, "Conv", {x, w}, shape, {{"group", std::int64_t{16}}});
  graph.set_outputs({add(graph, "Relu", {add(graph, "Add", {x, y}, shape)}, shape)});
  EXPECT_EQ(node_steps(graph, {}), 3U);
}

}  // namespace
}  // namespace tare::test
