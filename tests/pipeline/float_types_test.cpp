// Networks of other floating types than float32, quantized.
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "support/files/digits.h"
#include "support/files/folder.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr int kOpsetOfBfloat16 = 22;

/// The network of digits as a file of that type.
class FloatTypes : public InFolder, public ::testing::WithParamInterface<DType> {
 protected:
  FloatTypes() {
    Graph model = digits_.model;
    for (const ValueId id : model.values()) {
      if (model.type(id).dtype == DType::kFloat32 && model.constant(id) == nullptr) {
        model.file_types.emplace(model.name(id), GetParam());
      }
    }
    model.opset = GetParam() == DType::kBfloat16 ? kOpsetOfBfloat16 : model.opset;
    write_onnx(model, path("model.onnx"));
  }

  Graph load(const std::string& file) const { return load_model(path(file), {}, nullptr); }

  QuantizeResult quantized(const Config& config = {}) const {
    return quantize(load("model.onnx"), *digits_.data, config, Toolkit::builtin(),
                    {.samples = 20});
  }

  std::vector<float> results(const Graph& graph) const { return digits_.results(graph); }

  const Digits digits_;
};

double sqnr(const std::vector<float>& exact, const std::vector<float>& approximate) {
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    signal += std::pow(exact[i], 2);
    noise += std::pow(exact[i] - approximate[i], 2);
  }
  return 10 * std::log10(signal / noise);
}

/// Types of the real values of a file, without those of conversions and Casts.
std::vector<DType> computed_types(const Graph& graph) {
  std::vector<DType> types;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const DType dtype = graph.type(node.outputs[0]).dtype;
    if (is_float(dtype) && node.op != "Cast" && !node.op.ends_with("Linear")) {
      types.push_back(dtype);
    }
  }
  return types;
}

TEST_P(FloatTypes, OfAModelAreThoseOfItsFile) {
  const Graph file = read_onnx(path("model.onnx"));
  for (const DType dtype : computed_types(file)) {
    EXPECT_EQ(dtype, GetParam());
  }
  const Graph model = load("model.onnx");
  for (const DType dtype : computed_types(model)) {
    EXPECT_EQ(dtype, DType::kFloat32);
  }
  // Weights lost the digits that the type does not have: 8 bits at least, of 2 in a row.
  EXPECT_GT(sqnr(results(digits_.model), results(model)), 35);
}

TEST_P(FloatTypes, OfInputsAndOutputsAreKeptInEveryForm) {
  const QuantizeResult result = quantized();
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    write_model(result, path("q.onnx"), form, Toolkit::builtin());
    const Graph file = read_onnx(path("q.onnx"));
    EXPECT_EQ(file.type(file.inputs()[0]).dtype, GetParam());
    EXPECT_EQ(file.type(file.outputs()[0]).dtype, GetParam());
    EXPECT_EQ(file.name(file.inputs()[0]), digits_.model.name(digits_.model.inputs()[0]));
    EXPECT_EQ(file.name(file.outputs()[0]), digits_.model.name(digits_.model.outputs()[0]));
  }
}

TEST_P(FloatTypes, DoNotChangeWhatAFileComputesOnIntegers) {
  const QuantizeResult result = quantized();
  const std::vector<float> expected = results(result.integer);
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    write_model(result, path("q.onnx"), form, Toolkit::builtin());
    EXPECT_EQ(results(load("q.onnx")), expected);
  }
}

TEST_P(FloatTypes, AreWrittenBackWhereLayersStayInFloat) {
  Config config;
  LayerRule rule;
  rule.name = "/residual2/*";
  rule.keep_float = true;
  config.layers = {rule};
  const QuantizeResult result = quantized(config);
  write_model(result, path("q.onnx"), Form::kQdq, Toolkit::builtin());
  const Graph file = read_onnx(path("q.onnx"));
  const std::vector<DType> types = computed_types(file);
  // Opset 21, the newest that is written, has no convolution of bfloat16.
  EXPECT_GE(std::count(types.begin(), types.end(), GetParam()),
            GetParam() == DType::kBfloat16 ? 1 : 3);
  // Weights that preparing the graph changed are rounded once more, which tips roundings of
  // storage values. They make errors of 42 dB, and not all tip.
  EXPECT_GT(sqnr(results(result.integer), results(file)), 42);
}

INSTANTIATE_TEST_SUITE_P(Each, FloatTypes,
                         ::testing::Values(DType::kFloat16, DType::kBfloat16, DType::kFloat64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tare::test
