#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "support/files/models.h"
#include "support/files/temporary_folder.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Graph dequantized_text(const std::string& body) {
  return dequantized(parse("graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n" + body + "}"));
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> found;
  for (const NodeId id : graph.topological_order()) {
    found.push_back(graph.node(id).op);
  }
  return found;
}

std::vector<float> run(const Graph& graph, std::vector<float> x) {
  const std::vector<Tensor> inputs{Tensor::of<float>({1, 4}, std::move(x))};
  return Executable(graph).run(inputs)[0].to_float();
}

/// Squares of what the results of a network on the first samples differ by from the float one.
double squared_error(const Graph& real, const Graph& other, const Dataset& data) {
  double sum = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    const std::vector<Tensor> sample{data.read(data.inputs()[0].name, i, 1)};
    const auto wanted = Executable(real).run(sample)[0].to_double();
    const auto found = Executable(other).run(sample)[0].to_double();
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      sum += (wanted[k] - found[k]) * (wanted[k] - found[k]);
    }
  }
  return sum;
}

constexpr const char* kDense =
    "const %s : f32[] = [0.5]\nconst %z : i8[] = [3]\n"
    "const %ws : f32[] = [0.25]\nconst %wz : i8[] = [0]\n"
    "const %w : i8[4,2] = [1, -2, 3, -4, 5, -6, 7, -8]\n"
    "%q = QuantizeLinear(%x, %s, %z) : i8[1,4]\n"
    "%d = DequantizeLinear(%q, %s, %z) : f32[1,4]\n"
    "%v = DequantizeLinear(%w, %ws, %wz) : f32[4,2]\n"
    "%m = MatMul(%d, %v) : f32[1,2]\n";

TEST(Dequantized, HasTheRealWeightsAndNoConversions) {
  const Graph graph = dequantized_text(std::string(kDense) +
                                       "%r = QuantizeLinear(%m, %s, %z) : i8[1,2]\n"
                                       "%y = DequantizeLinear(%r, %s, %z) : f32[1,2]\n");
  EXPECT_EQ(operators(graph), std::vector<std::string>{"MatMul"});
  // 0.1 and 100 are neither on the grid of the input nor within its range.
  EXPECT_EQ(run(graph, {0.1F, 100, 0, 0}),
            (std::vector<float>{0.25F * 0.1F + 0.75F * 100, -0.5F * 0.1F - 100}));
}

TEST(Dequantized, KeepsTheReluThatAStorageTypeStandsFor) {
  const Graph graph = dequantized_text(std::string(kDense) +
                                       "const %low : i8[] = [-128]\n"
                                       "%r = QuantizeLinear(%m, %s, %low) : i8[1,2]\n"
                                       "%y = DequantizeLinear(%r, %s, %low) : f32[1,2]\n");
  EXPECT_EQ(operators(graph), (std::vector<std::string>{"MatMul", "Clip"}));
  EXPECT_EQ(run(graph, {1, 0, 0, 0}), (std::vector<float>{0.25F, 0}));
  EXPECT_EQ(run(graph, {0, 0, 0, 1000}), (std::vector<float>{0.5F * 255, 0}));
}

TEST(Dequantized, AddsNoClipBehindARelu) {
  const Graph graph = dequantized_text(std::string(kDense) +
                                       "const %low : i8[] = [-128]\n"
                                       "const %to : i64[2] = [2, 1]\n"
                                       "%u = Relu(%m) : f32[1,2]\n"
                                       "%p = Reshape(%u, %to) : f32[2,1]\n"
                                       "%r = QuantizeLinear(%p, %s, %low) : i8[2,1]\n"
                                       "%y = DequantizeLinear(%r, %s, %low) : f32[2,1]\n");
  EXPECT_EQ(run(graph, {0, 0, 0, 1000}), (std::vector<float>{1750, 0}));
}

TEST(Dequantized, ClipsWhatOnlySomeOperandsOfAConcatKeepAboveZero) {
  const auto concat = [](const char* first) {
    return dequantized_text(std::string(kDense) +
                            "const %low : i8[] = [-128]\n"
                            "%u = Relu(%m) : f32[1,2]\n"
                            "%k = Concat(" +
                            first +
                            ") {axis=1} : f32[1,4]\n"
                            "%r = QuantizeLinear(%k, %s, %low) : i8[1,4]\n"
                            "%y = DequantizeLinear(%r, %s, %low) : f32[1,4]\n");
  };
  EXPECT_EQ(run(concat("%u, %m"), {1, 0, 0, 0}), (std::vector<float>{0.25F, 0, 0.25F, 0}));
  EXPECT_EQ(operators(concat("%u, %u")),
            (std::vector<std::string>{"MatMul", "Relu", "Concat"}));
}

TEST(Dequantized, TakesEveryFormOfAQuantizedModel) {
  const TestModel files = test_models()[0];
  const auto data = open_dataset(files.calibration);
  const Graph model = load_model(files.model, {}, data.get());
  const QuantizeResult result = quantize(model, *data, {}, Toolkit::builtin(), {.samples = 64});
  const double error = squared_error(model, dequantized(result.integer), *data);
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const TemporaryFolder folder;
    write_model(result, folder / "model.onnx", form);
    const Graph real = dequantized(load_model(folder / "model.onnx", {}, data.get()));
    EXPECT_FALSE(is_quantized(real)) << static_cast<int>(form);
    // The same constants; sums may be in another order.
    EXPECT_NEAR(squared_error(model, real, *data), error, 1e-3 * error)
        << static_cast<int>(form);
  }
}

TEST(Dequantized, HasRealInputsAndOutputs) {
  const Graph graph =
      dequantized(parse("graph \"g\" opset 17 (%x : u8[1,4]) -> (%y) {\n"
                        "const %s : f32[] = [0.5]\nconst %z : u8[] = [128]\n"
                        "%d = DequantizeLinear(%x, %s, %z) : f32[1,4]\n"
                        "%t = Tanh(%d) : f32[1,4]\n"
                        "%y = QuantizeLinear(%t, %s, %z) : u8[1,4]\n}"));
  EXPECT_EQ(operators(graph), std::vector<std::string>{"Tanh"});
  EXPECT_EQ(graph.type(graph.inputs()[0]).dtype, DType::kFloat32);
  EXPECT_EQ(graph.type(graph.outputs()[0]).dtype, DType::kFloat32);
  EXPECT_EQ(graph.name(graph.outputs()[0]), "y");
}

TEST(Dequantized, ErrsLessThanTheQuantizedNetworkAsOnlyItsWeightsAreRounded) {
  const TestModel files = test_models()[0];
  const auto data = open_dataset(files.calibration);
  const Graph model = load_model(files.model, {}, data.get());
  const QuantizeResult result = quantize(model, *data, {}, Toolkit::builtin(), {.samples = 64});
  const Graph real = dequantized(result.integer);
  for (const ValueId value : real.values()) {
    EXPECT_FALSE(real.type(value).quant) << real.name(value);
  }
  const double of_weights = squared_error(model, real, *data);
  EXPECT_GT(of_weights, 0);
  EXPECT_LT(of_weights, squared_error(model, result.integer, *data));
}

}  // namespace
}  // namespace tare::test
