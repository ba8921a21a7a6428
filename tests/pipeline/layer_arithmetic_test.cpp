// What single layers may have of their own: accumulators, how they are rescaled, where their
// bias is added, and how many bits their values have.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "lower/forms/forms.h"
#include "support/config.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr Form kForms[] = {Form::kQdq, Form::kQoperator, Form::kInteger};

/// A convolution, a depthwise one, and a dense layer, each with a bias.
Graph network() {
  Random random(5);
  Graph graph;
  graph.graph_name = "graph";  // as files have one
  const ValueId x = graph.add_input("x", f32({1, 4, 9, 9}));
  const auto constant = [&](const char* name, Shape shape) {
    return graph.add_constant(name, random.tensor(std::move(shape)));
  };
  const ValueId c1 =
      add(graph, "Conv", {x, constant("w1", {8, 4, 3, 3}), constant("b1", {8})}, {1, 8, 7, 7});
  const ValueId r1 = add(graph, "Relu", {c1}, {1, 8, 7, 7});
  const ValueId c2 = add(graph, "Conv", {r1, constant("w2", {8, 1, 3, 3}), constant("b2", {8})},
                         {1, 8, 5, 5}, {{"group", std::int64_t{8}}});
  const ValueId flat = add(graph, "Flatten", {c2}, {1, 200});
  graph.set_outputs({add(graph, "Gemm", {flat, constant("w3", {5, 200}), constant("b3", {5})},
                         {1, 5}, {{"transB", std::int64_t{1}}})});
  return graph;
}

class LayerArithmetic : public InFolder {
 protected:
  /// The nodes of network(), in order.
  std::vector<std::string> products() const {
    std::vector<std::string> names;
    for (const NodeId id : network_.topological_order()) {
      const std::string& op = network_.node(id).op;
      if (op == "Conv" || op == "Gemm") {
        names.push_back(network_.node(id).name);
      }
    }
    return names;
  }

  Config config(const std::string& text) const {
    write_bytes(path("c.yaml"), text);
    return read_config(path("c.yaml"), {}, Toolkit::builtin().calibrator_names());
  }

  QuantizeResult quantized(const Config& config) const {
    return quantize(network_, data_, config, Toolkit::builtin());
  }

  Tensor run(const Graph& graph, std::size_t sample) const {
    return Executable(graph).run(std::vector<Tensor>{data_.read("x", sample, 1)})[0];
  }

  void expect_equal_results(const Graph& a, const Graph& b) const {
    for (std::size_t sample = 0; sample < data_.size(); ++sample) {
      EXPECT_EQ(run(a, sample), run(b, sample)) << sample;
    }
  }

  Graph network_ = network();
  Random random_{6};
  SamplesInMemory data_{{{"x", random_.tensor({12, 4, 9, 9})}}};
};

TEST_F(LayerArithmetic, IsThatOfTheRuleElseTheConfigurationElseTheOperatorElseTheTarget) {
  const std::vector<std::string> names = products();
  Target target;
  target.accumulator = {.bits = 20, .overflow = Overflow::kWrap};
  target.requantize.rounding = RequantizeRounding::kUpward;
  target.accumulators = {{"Conv", NodeKind::kDepthwise, {.bits = 18, .overflow = {}}},
                         {"Conv", NodeKind::kAny, {.bits = 19, .overflow = {}}}};
  const auto bits = [&](const Config& config) {
    const NetworkArithmetic all = network_arithmetic(network_, config, target);
    std::vector<int> result;
    for (const std::string& name : names) {
      result.push_back(all.of(name).accumulator.bits);
      EXPECT_EQ(all.of(name).accumulator.overflow, Overflow::kWrap);
    }
    return result;
  };
  EXPECT_EQ(bits({}), (std::vector<int>{19, 18, 20}));
  EXPECT_EQ(bits(config("accumulator: {bits: 24}")), (std::vector<int>{24, 24, 24}));
  EXPECT_EQ(bits(config("accumulator: {bits: 24}\nlayers:\n- match: {groups: 2..}\n"
                        "  accumulator: {bits: 12}\n- match: {op: Gemm}\n"
                        "  accumulator: {bits: 13}\n")),
            (std::vector<int>{24, 12, 13}));

  const auto rounding = [&](const Config& config, std::size_t i) {
    return network_arithmetic(network_, config, target).of(names[i]).requantize;
  };
  EXPECT_EQ(rounding({}, 0), requantize_mode(RequantizeRounding::kUpward));
  EXPECT_EQ(rounding(config("requantize: {rounding: half_even}"), 0), RequantizeMode{});
  const Config one = config(
      "layers:\n- match: {op: Gemm}\n  requantize: {rounding: to_nearest, arithmetic: "
      "float}\n");
  EXPECT_EQ(rounding(one, 0), requantize_mode(RequantizeRounding::kUpward));
  EXPECT_EQ(rounding(one, 2),
            requantize_mode(RequantizeRounding::kToNearest, RequantizeArithmetic::kFloat));
}

TEST_F(LayerArithmetic, IsOnTheNodesOfTheIntegerGraphAndInFilesOfEveryForm) {
  const std::vector<std::string> names = products();
  const QuantizeResult result = quantized(
      config("objective: coverage\nlayers:\n- match: {input_channels: 1, groups: 2..}\n"
             "  accumulator: {bits: 14}\n  requantize: {rounding: tflite_double}\n"
             "- match: {op: Gemm}\n  accumulator: {overflow: wrap, bits: 20}\n"));
  const auto expect_own = [&](const Graph& integer) {
    for (const NodeId id : integer.nodes()) {
      const Node& node = integer.node(id);
      const Accumulator held = accumulator(node.attributes);
      const int bits = node.name == names[1] ? 14 : node.name == names[2] ? 20 : 32;
      EXPECT_EQ(held.bits, bits) << node.name;
      if (node.op == "Requantize") {
        const Node& sum = integer.node(*integer.producer(node.inputs[0]));
        EXPECT_EQ(requantize_mode(node.attributes).rounding,
                  sum.name == names[1] ? RequantizeRounding::kTfliteDouble
                                       : RequantizeRounding::kHalfEven);
      }
    }
  };
  expect_own(result.integer);
  for (const Form form : kForms) {
    write_model(result, path("q.onnx"), form);
    const FileMetadata metadata = read_file_metadata(path("q.onnx"));
    EXPECT_EQ(metadata.arithmetic, result.simulated.arithmetic);
    const Graph again = lower_quantized(load_model(path("q.onnx"), {}, nullptr), metadata, {},
                                        Toolkit::builtin());
    expect_own(again);
    expect_equal_results(again, result.integer);
  }
}

TEST_F(LayerArithmetic, OverflowsInSimulationAsInTheIntegerGraphBitForBit) {
  Config exact = config(
      "activations: {power_of_two: true}\nweights: {power_of_two: true}\n"
      "objective: coverage\nlayers:\n- match: {depth: 0}\n  accumulator: {bits: 12}\n"
      "- match: {op: Gemm}\n  accumulator: {bits: 13, overflow: wrap}\n");
  const QuantizeResult result = quantized(exact);
  expect_equal_results(tare::bind(result.simulated, result.table), result.integer);
  exact.layers.clear();
  int differ = 0;
  const Graph wide = quantized(exact).integer;
  for (std::size_t sample = 0; sample < data_.size(); ++sample) {
    differ += run(wide, sample) == run(result.integer, sample) ? 0 : 1;
  }
  EXPECT_GT(differ, 0) << "no accumulator overflowed";
}

TEST_F(LayerArithmetic, AddsBiasesBehindRescalingWhereThatIsAskedFor) {
  const std::vector<std::string> names = products();
  const QuantizeResult result =
      quantized(config("objective: coverage\nlayers:\n- match: {op: Conv}\n"
                       "  requantize: {bias_after: true}\n"));
  for (const NodeId id : result.integer.nodes()) {
    const Node& node = result.integer.node(id);
    if (node.op == "Conv") {
      EXPECT_EQ(node.inputs.size(), 2U) << node.name;
    } else if (node.op == "Gemm") {
      EXPECT_EQ(node.inputs.size(), 3U);
    } else if (node.op == "Add") {
      for (const ValueId operand : node.inputs) {
        EXPECT_EQ(result.integer.type(operand).dtype, DType::kUint8);
      }
    }
  }
  EXPECT_EQ(count_of(result.integer, "Add"), 2U);
  EXPECT_EQ(count_of(result.simulated.source, "Add"), 2U);
  // It is the same network, and its results keep their names.
  for (std::size_t sample = 0; sample < data_.size(); ++sample) {
    const auto real_results = [&](const Graph& graph) {
      return Executable(graph, {.observe = {}, .precise = true})
          .run(std::vector<Tensor>{data_.read("x", sample, 1)})[0]
          .to_float();
    };
    const std::vector<float> before = real_results(network_);
    const std::vector<float> after = real_results(result.simulated.source);
    for (std::size_t i = 0; i < before.size(); ++i) {
      // A sum in another order.
      EXPECT_NEAR(before[i], after[i], 1e-5 * (1 + std::abs(before[i])));
    }
  }
  EXPECT_TRUE(result.simulated.source.find_value(network_.name(network_.outputs()[0])));
  write_model(result, path("q.onnx"));
  expect_equal_results(
      lower_quantized(load_model(path("q.onnx"), {}, nullptr), {}, Toolkit::builtin()),
      result.integer);
}

TEST_F(LayerArithmetic, KeepsConstantAddsOutOfAccumulatorsOnTargetsThatAddBehind) {
  write_bytes(path("t.yaml"), "extends: qnn\nrequantize: {bias_after: true}\n");
  Graph graph;
  Random random(9);
  const ValueId x = graph.add_input("x", f32({1, 4, 9, 9}));
  const ValueId sum = add(
      graph, "Conv", {x, graph.add_constant("w", random.tensor({8, 4, 3, 3}))}, {1, 8, 7, 7});
  graph.set_outputs(
      {add(graph, "Add", {sum, graph.add_constant("b", random.tensor({1, 8, 1, 1}))},
           {1, 8, 7, 7})});
  Config config;
  config.target = path("t.yaml").string();
  const QuantizeResult result = quantize(graph, data_, config, Toolkit::builtin());
  EXPECT_EQ(count_of(result.integer, "Add"), 1U);
  EXPECT_EQ(count_of(result.integer, "Dequantize"), 1U);
}

class ActivationBits : public LayerArithmetic, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Each, ActivationBits, ::testing::Values(2, 3, 4, 6, 7, 8),
                         [](const auto& each) { return std::to_string(each.param); });

TEST_P(ActivationBits, BoundTheIntegersInEveryFormOfFiles) {
  const int bits = GetParam();
  for (const char* symmetric : {"false", "true"}) {
    const QuantizeResult result =
        quantized(config("objective: coverage\nactivations: {storage: uint8, bits: " +
                         std::to_string(bits) + ", symmetric: " + symmetric + "}\n"));
    std::size_t cut = 0;
    for (const ValueId value : result.integer.values()) {
      const TensorType& type = result.integer.type(value);
      if (type.quant && type.dtype == DType::kUint8 &&
          result.integer.constant(value) == nullptr) {
        EXPECT_EQ(type.quant->range().high, (1 << bits) - 1);
        ++cut;
      }
    }
    EXPECT_GT(cut, 2U);
    for (const Form form : kForms) {
      write_model(result, path("q.onnx"), form);
      const Graph read = load_model(path("q.onnx"), {}, nullptr);
      const Graph again =
          lower_quantized(read, read_file_metadata(path("q.onnx")), {}, Toolkit::builtin());
      expect_equal_results(again, result.integer);
    }
  }
}

TEST_F(LayerArithmetic, HasTwelveBitsWhereTheTargetHasTypesOfSixteen) {
  Config wide = config("target: qnn\nactivations: {bits: 12}\n");
  const QuantizeResult result = quantized(wide);
  bool any = false;
  for (const ValueId value : result.integer.values()) {
    const TensorType& type = result.integer.type(value);
    if (type.quant && type.dtype == DType::kUint16) {
      EXPECT_EQ(type.quant->range().high, 4095);
      any = true;
    }
  }
  EXPECT_TRUE(any);
  EXPECT_EQ(message_of(
                [&] { (void)quantized(config("target: openvino\nactivations: {bits: 12}\n")); },
                ErrorCode::kInvalidConfig),
            "activations.bits: the target 'openvino' has no activations of so many bits, "
            "expected at most 8\n  while simulating");
}

TEST_F(LayerArithmetic, LeavesOutTheLowestValueWhereRangesAreNarrow) {
  const QuantizeResult result = quantized(config(
      "objective: coverage\nactivations: {storage: int8, symmetric: true, narrow: true}\n"));
  bool any = false;
  for (const ValueId value : result.integer.values()) {
    const TensorType& type = result.integer.type(value);
    if (type.quant && type.dtype == DType::kInt8 && result.integer.constant(value) == nullptr) {
      EXPECT_EQ(type.quant->range().low, -127);
      any = true;
    }
  }
  EXPECT_TRUE(any);
  write_model(result, path("q.onnx"));
  expect_equal_results(
      lower_quantized(load_model(path("q.onnx"), {}, nullptr), {}, Toolkit::builtin()),
      result.integer);
}

}  // namespace
}  // namespace tare::test
