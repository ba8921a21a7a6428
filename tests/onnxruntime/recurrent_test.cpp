// Recurrent layers in every variety that ONNX Runtime has, against it.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "raw_samples.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "with_onnxruntime.h"

#include <array>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct Variety {
  std::string op;
  std::int64_t gates;
  std::int64_t activations;
};

const std::array<Variety, 3> kVarieties{{{"LSTM", 4, 3}, {"GRU", 3, 2}, {"RNN", 1, 1}}};

/// As many as a node of that kind names, with settings for those that have some.
void choose_activations(Random& random, std::int64_t count, Attributes& attributes) {
  struct Choice {
    const char* name;
    int settings;
  };
  static const std::array<Choice, 8> choices{{{"Sigmoid", 0},
                                              {"Tanh", 0},
                                              {"Relu", 0},
                                              {"Softsign", 0},
                                              {"Softplus", 0},
                                              {"LeakyRelu", 1},
                                              {"Elu", 1},
                                              {"HardSigmoid", 2}}};
  std::vector<std::string> names;
  std::vector<float> alphas;
  std::vector<float> betas;
  for (std::int64_t i = 0; i < count; ++i) {
    const Choice& choice = choices.at(static_cast<std::size_t>(random.integer(0, 7)));
    names.emplace_back(choice.name);
    if (choice.settings >= 1) {
      alphas.push_back(0.125F * static_cast<float>(random.integer(1, 4)));
    }
    if (choice.settings >= 2) {
      betas.push_back(0.5F);
    }
  }
  attributes.set("activations", names);
  if (!alphas.empty()) {
    attributes.set("activation_alpha", alphas);
  }
  if (!betas.empty()) {
    attributes.set("activation_beta", betas);
  }
}

Tensor weights(Random& random, Shape shape) {
  Tensor result = random.tensor(std::move(shape));
  for (float& x : result.mutable_view<float>()) {
    x *= 0.25F;  // so that states stay small without an activation that bounds them
  }
  return result;
}

struct Case {
  Graph graph;
  Shape input;
};

Case random_case(std::uint32_t seed) {
  Random random(seed);
  const Variety& variety = kVarieties.at(seed % kVarieties.size());
  const std::int64_t steps = random.integer(1, 6);
  const std::int64_t sequences = random.integer(1, 3);
  const std::int64_t inputs = random.integer(1, 5);
  const std::int64_t hidden = random.integer(1, 9);
  const std::array<const char*, 3> directions{"forward", "reverse", "bidirectional"};
  const std::string direction = directions.at(static_cast<std::size_t>(random.integer(0, 2)));
  const std::int64_t count = direction == "bidirectional" ? 2 : 1;
  const bool is_lstm = variety.op == "LSTM";

  Case result;
  Graph& graph = result.graph;
  result.input = {1, steps, sequences, inputs};
  const ValueId x = graph.add_input("x", f32(result.input));
  const ValueId shape =
      graph.add_constant("shape", Tensor::of<std::int64_t>({3}, {steps, sequences, inputs}));
  Attributes attributes{{"direction", direction}, {"hidden_size", hidden}};
  if (random.coin()) {
    attributes.set("clip", 0.5F);
  }
  if (random.coin()) {
    choose_activations(random, count * variety.activations, attributes);
  }
  if (variety.op == "GRU" && random.coin()) {
    attributes.set("linear_before_reset", std::int64_t{1});
  }
  if (is_lstm && random.coin()) {
    attributes.set("input_forget", std::int64_t{1});
  }
  const auto constant = [&](const char* name, Shape of) {
    return graph.add_constant(name, weights(random, std::move(of)));
  };
  const auto maybe = [&](const char* name, Shape of) {
    return random.coin() ? constant(name, std::move(of)) : ValueId{};
  };
  const std::int64_t width = variety.gates * hidden;
  std::vector<ValueId> operands{add(graph, "Reshape", {x, shape}, {steps, sequences, inputs}),
                                constant("w", {count, width, inputs}),
                                constant("r", {count, width, hidden}),
                                maybe("b", {count, 2 * width})};
  if (random.coin()) {
    std::vector<std::int32_t> lengths;
    for (std::int64_t s = 0; s < sequences; ++s) {
      lengths.push_back(static_cast<std::int32_t>(random.integer(1, steps)));
    }
    operands.push_back(
        graph.add_constant("lengths", Tensor::of<std::int32_t>({sequences}, lengths)));
  } else {
    operands.emplace_back();
  }
  operands.push_back(maybe("h", {count, sequences, hidden}));
  if (is_lstm) {
    operands.push_back(maybe("c", {count, sequences, hidden}));
    operands.push_back(maybe("p", {count, 3 * hidden}));
  }
  std::vector<NamedType> outputs{{"y", f32({steps, count, sequences, hidden})},
                                 {"y_h", f32({count, sequences, hidden})}};
  if (is_lstm) {
    outputs.push_back({"y_c", f32({count, sequences, hidden})});
  }
  const NodeId node =
      graph.add_node("layer", variety.op, std::move(operands), outputs, attributes);
  graph.set_outputs(graph.node(node).outputs);
  return result;
}

/// Float rounding and their approximations of the activations, through six steps.
void expect_alike(const std::vector<Tensor>& ours,
                  const std::vector<std::vector<float>>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto values = ours[i].to_float();
    ASSERT_EQ(values.size(), theirs[i].size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      EXPECT_NEAR(values[k], theirs[i][k], 1e-5 * std::max(1.0F, std::abs(values[k])))
          << "result " << i << " element " << k;
    }
  }
}

class RecurrentLayer : public WithOnnxRuntime,
                       public ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(RecurrentLayer, GivesWhatOnnxRuntimeGives) {
  const Case c = random_case(GetParam());
  Random random(GetParam() + 1000);
  const Tensor sample = random.tensor(c.input);
  const auto file = folder_ / "model.onnx";
  write_onnx(c.graph, file);
  const auto theirs = runtime_->run(
      file, write_raw_samples(c.graph, SamplesInMemory({{"x", sample}}), 0, folder_),
      folder_ / "outputs");
  const auto ours = Executable(c.graph).run(std::vector<Tensor>{sample});
  expect_alike(ours, theirs);
}

/// Every third of the varieties.
class QuantizedRecurrentLayer : public RecurrentLayer {};

TEST_P(QuantizedRecurrentLayer, GivesWhatOnnxRuntimeGives) {
  const Case c = random_case(3 * GetParam());
  Random random(GetParam() + 2000);
  const Tensor sample = random.tensor(c.input);
  const SamplesInMemory data({{"x", sample}});
  Config config;
  config.objective = Objective::kSize;  // however small
  const QuantizeResult q = quantize(c.graph, data, config, Toolkit::builtin());
  const auto file = folder_ / "model.onnx";
  write_onnx(export_form(q.integer, Form::kQdq, q.simulated.target), file);
  EXPECT_EQ(runtime_->kernels(file).at("DynamicQuantizeLSTM"), 1);
  const auto theirs =
      runtime_->run(file, write_raw_samples(c.graph, data, 0, folder_), folder_ / "outputs");
  const Graph read = load_model(file, {}, nullptr);
  for (const Graph* graph : {&q.integer, &read}) {
    const auto ours = Executable(*graph).run(std::vector<Tensor>{sample});
    expect_alike(ours, theirs);
  }
}

using RecurrentNetwork = WithOnnxRuntime;

TEST_F(RecurrentNetwork, IsQuantizedAroundItsRecurrentLayers) {
  Random random(3);
  Graph graph;
  const auto constant = [&](const char* name, Shape shape) {
    return graph.add_constant(name, random.tensor(std::move(shape)));
  };
  const ValueId x = graph.add_input("x", f32({1, 12, 16}));
  const ValueId embedded = add(graph, "MatMul", {x, constant("a", {16, 24})}, {1, 12, 24});
  const ValueId in_time = add(graph, "Transpose", {embedded}, {12, 1, 24},
                              {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
  const NodeId layer = graph.add_node(
      "layer", "LSTM", {in_time, constant("w", {2, 32, 24}), constant("r", {2, 32, 8})},
      {{"y", f32({12, 2, 1, 8})}, {"y_h", f32({2, 1, 8})}},
      {{"direction", std::string("bidirectional")}, {"hidden_size", std::int64_t{8}}});
  const ValueId state = add(graph, "Transpose", {graph.node(layer).outputs[1]}, {1, 2, 8},
                            {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
  graph.set_outputs({add(graph, "MatMul", {state, constant("b", {8, 5})}, {1, 2, 5})});

  const SamplesInMemory data({{"x", random.tensor({32, 12, 16})}});
  Config config;
  config.objective = Objective::kCoverage;
  const QuantizeResult q = quantize(graph, data, config, Toolkit::builtin());
  const auto file = folder_ / "model.onnx";
  write_onnx(export_form(q.integer, Form::kQdq, q.simulated.target), file);
  const std::map<std::string, int> kernels = runtime_->kernels(file);
  EXPECT_EQ(kernels.at("DynamicQuantizeLSTM"), 1);
  EXPECT_FALSE(kernels.contains("MatMul"));  // both are of integers

  const auto theirs =
      runtime_->run(file, write_raw_samples(graph, data, 0, folder_), folder_ / "outputs")[0];
  std::vector<float> ours;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto result =
        Executable(q.integer).run(std::vector<Tensor>{data.read("x", i, 1)})[0].to_float();
    ours.insert(ours.end(), result.begin(), result.end());
  }
  // A state may be rounded to another step of 8 bits where the last bit of a float differs.
  EXPECT_LT(relative_error(ours, theirs), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(OfRandomVariety, RecurrentLayer, ::testing::Range(0U, 60U));
INSTANTIATE_TEST_SUITE_P(OfRandomVariety, QuantizedRecurrentLayer, ::testing::Range(0U, 40U));

}  // namespace
}  // namespace tare::test
