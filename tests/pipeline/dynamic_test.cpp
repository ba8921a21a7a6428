// Products whose operand gets its parameters while the network runs.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/model_files.h"

#include "support/files/digits.h"
#include "support/files/samples_in_memory.h"
#include "support/files/temporary_folder.h"
#include "support/graphs.h"
#include "support/message.h"
#include "support/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Config dynamic_config() {
  Config config;
  config.activations.dynamic = true;
  config.objective = Objective::kCoverage;
  return config;
}

/// What DynamicQuantizeLinear of ONNX says of a row of numbers.
struct Bytes {
  explicit Bytes(std::span<const float> values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const float least = std::min(*low, 0.0F);
    scale = (std::max(*high, 0.0F) - least) / 255.0F;
    zero_point = std::clamp(std::nearbyint(-least / scale), 0.0F, 255.0F);
    for (const float value : values) {
      steps.push_back(std::clamp(std::nearbyint(value / scale) + zero_point, 0.0F, 255.0F) -
                      zero_point);
    }
  }

  float scale = 0;
  float zero_point = 0;
  std::vector<float> steps;  ///< less the zero point
};

/// The same for a column of weights, symmetric and narrow.
Bytes symmetric(const std::vector<float>& column) {
  Bytes result(column);
  float largest = 0;
  for (const float w : column) {
    largest = std::max(largest, std::abs(w));
  }
  result.scale = largest / 127.0F;
  for (std::size_t k = 0; k < column.size(); ++k) {
    result.steps[k] = std::nearbyint(column[k] / result.scale);
  }
  return result;
}

class Dynamic : public ::testing::Test {
 protected:
  /// x [3, 7] times weights [7, 5].
  Graph product() {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({3, 7}));
    const ValueId w = graph.add_constant("w", weights_);
    graph.set_outputs({add(graph, "MatMul", {x, w}, {3, 5})});
    return graph;
  }

  Random random_{7};
  Tensor weights_ = random_.tensor({7, 5});
  Config config_ = [] {
    Config config = dynamic_config();
    config.target = "tensorrt";  // whose kernels do not limit pairs of weights
    return config;
  }();
};

TEST_F(Dynamic, MultipliesIntegersOfTheRangeThatItSees) {
  const QuantizeResult result = quantize(product(), config_, Toolkit::builtin());
  const Tensor x = random_.tensor({3, 7});
  const auto y = Executable(result.integer).run(std::vector<Tensor>{x})[0].to_float();
  const Bytes row(x.view<float>());
  for (std::size_t n = 0; n < 5; ++n) {
    std::vector<float> column;
    for (std::size_t k = 0; k < 7; ++k) {
      column.push_back(weights_.view<float>()[k * 5 + n]);
    }
    const Bytes w = symmetric(column);
    for (std::size_t m = 0; m < 3; ++m) {
      float sum = 0;  // of integers below 2^24
      for (std::size_t k = 0; k < 7; ++k) {
        sum += row.steps[m * 7 + k] * w.steps[k];
      }
      EXPECT_EQ(y[m * 5 + n], sum * (row.scale * w.scale)) << m << " " << n;
    }
  }
}

TEST_F(Dynamic, StaysWithinHalfAStepOfEachFactor) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4, 6}));
  const ValueId dense = add(graph, "Gemm",
                            {x, graph.add_constant("w", random_.tensor({5, 6})),
                             graph.add_constant("b", random_.tensor({5}))},
                            {4, 5}, {{"transB", std::int64_t{1}}});
  const ValueId image = graph.add_input("image", f32({1, 4, 5, 5}));
  const ValueId conv = add(graph, "Conv",
                           {image, graph.add_constant("kernel", random_.tensor({6, 2, 3, 3})),
                            graph.add_constant("offsets", random_.tensor({6}))},
                           {1, 6, 3, 3}, {{"group", std::int64_t{2}}});
  graph.set_outputs({dense, conv});
  const QuantizeResult result = quantize(graph, config_, Toolkit::builtin());
  EXPECT_EQ(count_of(result.integer, "MatMulInteger"), 1U);
  EXPECT_EQ(count_of(result.integer, "ConvInteger"), 1U);
  const std::vector<Tensor> inputs{random_.tensor({4, 6}), random_.tensor({1, 4, 5, 5})};
  const auto exact = Executable(graph).run(inputs);
  const auto rounded = Executable(result.integer).run(inputs);
  // Values within 2 have steps of 4 / 255, weights of 2 / 127.
  constexpr double kError = 2 * (0.5 * 4 / 255) + 2 * (0.5 * 2 / 127) + 1e-3;
  for (const auto [output, terms] : {std::pair(0U, 6), std::pair(1U, 18)}) {
    const auto a = exact[output].to_float();
    const auto b = rounded[output].to_float();
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i], b[i], terms * kError) << output << " " << i;
    }
    EXPECT_NE(a, b);
  }
}

TEST_F(Dynamic, QuantizesAnOperandOfSeveralProductsOnce) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({3, 7}));
  std::vector<ValueId> products;
  for (const char* name : {"q", "k", "v"}) {
    const ValueId w = graph.add_constant(name, random_.tensor({7, 5}));
    products.push_back(add(graph, "MatMul", {x, w}, {3, 5}));
  }
  graph.set_outputs(products);
  const Graph integer = quantize(graph, config_, Toolkit::builtin()).integer;
  EXPECT_EQ(count_of(integer, "DynamicQuantizeLinear"), 1U);
  EXPECT_EQ(count_of(integer, "MatMulInteger"), 3U);
}

TEST_F(Dynamic, LeavesAllElseInFloat) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({5, 5}));
  const ValueId square = add(graph, "MatMul", {x, x}, {5, 5});
  const ValueId sum = add(graph, "Add", {square, x}, {5, 5});
  graph.set_outputs({add(graph, "Relu", {sum}, {5, 5})});
  const QuantizeResult result = quantize(graph, config_, Toolkit::builtin());
  EXPECT_TRUE(result.table.empty());
  EXPECT_EQ(result.integer, result.prepared);
}

TEST_F(Dynamic, KeepsNamesAndTypesOfTheModel) {
  const QuantizeResult result = quantize(product(), config_, Toolkit::builtin());
  const Graph& before = result.prepared;
  EXPECT_EQ(result.integer.name(result.integer.outputs()[0]), before.name(before.outputs()[0]));
  EXPECT_EQ(result.integer.type(result.integer.outputs()[0]), before.type(before.outputs()[0]));
}

TEST_F(Dynamic, FollowsRulesOfLayers) {
  const Digits digits;
  Config config;
  LayerRule rule;
  rule.op = "Gemm";
  rule.activations.dynamic = true;
  config.layers = {rule};
  const QuantizeResult some = quantize(digits.model, *digits.data, config, Toolkit::builtin());
  EXPECT_EQ(count_of(some.integer, "DynamicQuantizeLinear"), 1U);
  EXPECT_GT(count_of(some.integer, "Requantize"), 10U);

  config = dynamic_config();
  rule.activations.dynamic.reset();
  rule.keep_float = true;
  config.layers = {rule};
  const QuantizeResult others = quantize(digits.model, config, Toolkit::builtin());
  EXPECT_EQ(count_of(others.integer, "Gemm"), 1U);
  EXPECT_GT(count_of(others.integer, "ConvInteger"), 10U);
}

TEST_F(Dynamic, LeavesInFloatWhatTheTargetHasNoKernelFor) {
  const Digits digits;
  Config config = dynamic_config();
  config.objective = Objective::kLatency;  // ort-cpu, where a ConvInteger takes longer
  const QuantizeResult result = quantize(digits.model, config, Toolkit::builtin());
  EXPECT_EQ(count_of(result.integer, "MatMulInteger"), 1U);
  EXPECT_EQ(count_of(result.integer, "ConvInteger"), 0U);
  EXPECT_EQ(count_of(result.integer, "Conv"), count_of(result.prepared, "Conv"));
}

TEST_F(Dynamic, IsExplainedAndCompared) {
  const Digits digits;
  const QuantizeResult result = quantize(digits.model, dynamic_config(), Toolkit::builtin());
  const Report report = compare_result(result, *digits.data, Toolkit::builtin());
  std::size_t products = 0;
  for (const LayerReport& layer : report.layers) {
    products += layer.op == "Conv" || layer.op == "Gemm" ? 1 : 0;
    EXPECT_EQ(layer.runs_as.empty(), layer.op != "Conv" && layer.op != "Gemm") << layer.name;
  }
  EXPECT_EQ(products, result.simulated.dynamic.size());
  EXPECT_GT(report.outputs.at(0).error.sqnr.value(), 30);
}

TEST_F(Dynamic, NeedsNoSamplesUnlessSomeValuesAreNotDynamic) {
  const Digits digits;
  Config config = dynamic_config();
  LayerRule rule;
  rule.op = "Conv";
  rule.activations.dynamic = false;
  config.layers = {rule};
  EXPECT_THROW(quantize(digits.model, config, Toolkit::builtin()), Error);
  config.layers.clear();
  const QuantizeResult without = quantize(digits.model, config, Toolkit::builtin());
  const QuantizeResult with = quantize(digits.model, *digits.data, config, Toolkit::builtin());
  EXPECT_EQ(without.integer, with.integer);
}

TEST_F(Dynamic, ReadsBackAsItWasWritten) {
  const TemporaryFolder folder;
  const Digits digits;
  const Graph integer = quantize(digits.model, dynamic_config(), Toolkit::builtin()).integer;
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const std::filesystem::path file = folder / "dynamic.onnx";
    write_onnx(export_form(integer, form), file);
    const Graph read = load_model(file, {}, digits.data.get());
    EXPECT_EQ(count_of(read, "DynamicQuantizeLinear"),
              count_of(integer, "DynamicQuantizeLinear"));
    const std::vector<Tensor> x{digits.data->read("image", 0, 1)};
    EXPECT_EQ(Executable(ready_to_run(read, {}, Toolkit::builtin())).run(x),
              Executable(integer).run(x));
  }
}

/// An LSTM of constant weights; `inputs` values in each of 16 steps, as many states.
class DynamicLstm : public ::testing::Test {
 protected:
  Graph network(std::int64_t size, const std::string& direction = "forward") {
    const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
    Graph graph;
    const ValueId x = graph.add_input("x", f32({16, 1, size}));
    const ValueId w = graph.add_constant("w", small({directions, 4 * size, size}));
    const ValueId r = graph.add_constant("r", small({directions, 4 * size, size}));
    const NodeId layer =
        graph.add_node("layer", "LSTM", {x, w, r}, {{"y", f32({16, directions, 1, size})}},
                       {{"hidden_size", size}, {"direction", direction}});
    graph.set_outputs({graph.node(layer).outputs[0]});
    return graph;
  }

  Graph quantized(const Graph& graph, const Config& config = {}) const {
    return quantize(graph, config, Toolkit::builtin()).integer;
  }

  Random random_{5};

 private:
  Tensor small(Shape shape) {
    Tensor result = random_.tensor(std::move(shape));
    for (float& w : result.mutable_view<float>()) {
      w *= 0.125F;
    }
    return result;
  }
};

TEST_F(DynamicLstm, IsQuantizedWhereItGainsTime) {
  EXPECT_EQ(count_of(quantized(network(64)), "DynamicQuantizeLSTM"), 1);
  const Graph small = quantized(network(8));
  EXPECT_EQ(count_of(small, "DynamicQuantizeLSTM"), 0);
  EXPECT_EQ(count_of(small, "LSTM"), 1);
}

/// What a target knows of the costs of other operators makes nothing dynamic.
TEST_F(Dynamic, IsWhatWasAskedForAlone) {
  Target target = read_target("ort-cpu");
  for (TargetOperator& row : target.operators) {
    if (row.op == "MatMulInteger") {
      row.floats.work = 1e6;
      row.integers.work = 1;
    }
  }
  const auto& patterns = Toolkit::builtin().patterns;
  EXPECT_TRUE(simulate(product(), {}, target, patterns).dynamic.empty());
  EXPECT_EQ(simulate(product(), dynamic_config(), target, patterns).dynamic.size(), 1U);
}

TEST_F(DynamicLstm, StaysInFloatWhereItIsToOrTheTargetHasNoSuchOperator) {
  Config config;
  LayerRule rule;
  rule.op = "LSTM";
  rule.keep_float = true;
  config.layers = {rule};
  EXPECT_EQ(count_of(quantized(network(64), config), "LSTM"), 1);
  config.layers.clear();
  config.target = "openvino";
  config.objective = Objective::kCoverage;
  EXPECT_EQ(count_of(quantized(network(64), config), "LSTM"), 1);
}

/// Values on a grid of 255 steps are exact in 8 bits, and so are states of zero.
TEST_F(DynamicLstm, IsTheFloatOneOfItsRoundedWeightsWhereInputsAreExact) {
  for (const std::string direction : {"forward", "bidirectional"}) {
    const Graph graph = network(64, direction);
    const QuantizeResult result = quantize(graph, {}, Toolkit::builtin());
    Tensor x(DType::kFloat32, {16, 1, 64});
    for (float& value : x.mutable_view<float>()) {
      value = static_cast<float>(random_.integer(-100, 155)) / 64;
    }
    x.mutable_view<float>()[0] = -100.0F / 64;
    x.mutable_view<float>()[1] = 155.0F / 64;
    Graph rounded = graph;
    for (const std::string name : {"w", "r"}) {
      const ValueId real = *rounded.find_value(name);
      rounded.replace_uses(
          real, rounded.add_constant(
                    name + "_rounded",
                    dequantize(quantize(*rounded.constant(real), result.table.at(name).params),
                               result.table.at(name).params)));
    }
    const auto ours = Executable(result.integer).run(std::vector<Tensor>{x})[0].to_float();
    const auto real = Executable(rounded).run(std::vector<Tensor>{x})[0].to_float();
    const std::size_t last = 15 * (direction == "forward" ? 64 : 128);
    for (std::size_t k = 0; k < 64; ++k) {
      EXPECT_NEAR(ours[k], real[k], 1e-5);
      if (direction != "forward") {  // which starts at the end
        EXPECT_NEAR(ours[last + 64 + k], real[last + 64 + k], 1e-5);
      }
    }
  }
}

/// Files of which an operand or an attribute is wrong.
TEST_F(DynamicLstm, SaysWhatIsWrongWithIt) {
  constexpr std::size_t kWeight = 1;
  constexpr std::size_t kScale = 8;
  const Graph good = quantized(network(64));
  const auto message = [&](const auto& spoil) {
    Graph bad = good;
    const auto nodes = bad.nodes();
    spoil(bad, *std::find_if(nodes.begin(), nodes.end(), [&](NodeId id) {
            return bad.node(id).op == "DynamicQuantizeLSTM";
          }));
    return message_of(
        [&] {
          (void)Executable(bad);
          return 0;
        },
        ErrorCode::kInvalidModel);
  };
  const auto with_operand = [&](std::size_t operand, const Tensor& tensor) {
    return message([&](Graph& bad, NodeId lstm) {
      bad.set_input(lstm, operand, bad.add_constant("other", tensor));
    });
  };
  const auto expect_word = [](const std::string& text, const std::string& word) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  expect_word(with_operand(kScale, Tensor(DType::kFloat32, {3})), "[1,256]");
  expect_word(with_operand(kScale + 1, Tensor(DType::kUint8, {1, 255})), "[1,256]");
  expect_word(with_operand(kWeight, Tensor(DType::kUint8, {1, 256})), "rank 3");
  expect_word(with_operand(kWeight, Tensor(DType::kUint8, {1, 63, 256})), "[1,256,64]");
  expect_word(message([](Graph& bad, NodeId lstm) {
                Attributes attributes = bad.node(lstm).attributes;
                attributes.set("layout", std::int64_t{1});
                bad.set_attributes(lstm, attributes);
              }),
              "layout");
}

TEST_F(DynamicLstm, GivesNothingForNoSequences) {
  const std::array shapes{Shape{16, 0, 64}};
  const Graph none = with_input_shapes(quantized(network(64)), shapes, {});
  ASSERT_EQ(count_of(none, "DynamicQuantizeLSTM"), 1);
  const std::vector<Tensor> x{Tensor(DType::kFloat32, shapes[0])};
  EXPECT_EQ(Executable(none).run(x)[0].shape(), (Shape{16, 1, 0, 64}));
}

TEST_F(DynamicLstm, HasNoLayoutEvenIfTheLayerSaysTheUsualOne) {
  Graph graph = network(64);
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op == "LSTM") {
      Attributes attributes = graph.node(id).attributes;
      attributes.set("layout", std::int64_t{0});
      graph.set_attributes(id, std::move(attributes));
    }
  }
  const Graph integer = quantized(std::move(graph));
  ASSERT_EQ(count_of(integer, "DynamicQuantizeLSTM"), 1);
  for (const NodeId id : integer.nodes()) {
    EXPECT_EQ(integer.node(id).attributes.integer("layout", -1), -1);
  }
}

TEST_F(DynamicLstm, ReadsBackAsItWasWritten) {
  const TemporaryFolder folder;
  const Graph integer = quantized(network(64, "bidirectional"));
  const std::filesystem::path file = folder / "lstm.onnx";
  write_onnx(export_form(integer, Form::kQdq), file);
  const Graph read = load_model(file, {}, nullptr);
  EXPECT_TRUE(is_quantized(read));
  const std::vector<Tensor> x{random_.tensor({16, 1, 64})};
  EXPECT_EQ(Executable(ready_to_run(read, {}, Toolkit::builtin())).run(x),
            Executable(integer).run(x));
}

TEST_F(DynamicLstm, IsFoundAgainInTheNetworkThatItCameFrom) {
  const QuantizeResult result = quantize(network(64), {}, Toolkit::builtin());
  const SamplesInMemory data({{"x", random_.tensor({2, 16, 1, 64})}});
  const Report report = compare_result(result, data, Toolkit::builtin());
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_EQ(report.layers[0].runs_as, "DynamicQuantizeLSTM");
}

}  // namespace
}  // namespace tare::test
