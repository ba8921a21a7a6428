// Weights of 4 bits, two in each byte of a file.
#include "tare/integer_graph.h"
#include "tare/model_files.h"

#include "support/config.h"
#include "support/files/digits.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/same_structure.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class PackedWeights : public InFolder {
 protected:
  QuantizeResult quantized(const std::vector<std::string>& settings) const {
    const Config config = config_with(settings);
    return quantize(digits_.model, *digits_.data, config, Toolkit::builtin(), {.samples = 20});
  }
  std::filesystem::path written(const QuantizeResult& result, const char* name,
                                Form form = Form::kQdq) const {
    write_onnx(export_form(result.integer, form, result.simulated.target), path(name));
    return path(name);
  }

  const Digits digits_;
};

/// Of all weights, as the integers of a result's products.
std::size_t weights_of(const QuantizeResult& result) {
  std::size_t count = 0;
  for (const AccumulatorRange& each : worst_case_accumulators(result.integer)) {
    const ValueId w = result.integer.node(each.node).inputs[1];
    count += static_cast<std::size_t>(result.integer.constant(w)->size());
  }
  return count;
}

std::size_t packed_constants(const Graph& file) {
  const auto values = file.values();
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [&](ValueId id) {
    return file.constant(id) != nullptr && file.type(id).quant &&
           file.type(id).quant->bits == 4;
  }));
}

TEST_F(PackedWeights, TakeHalfAByteEach) {
  const QuantizeResult bytes = quantized(
      {"target=qnn", "weights.bits=4", "weights.packed=false", "weights.symmetric=true"});
  const QuantizeResult halves = quantized({"target=qnn", "weights.bits=4"});
  EXPECT_EQ(bytes.integer, halves.integer);
  const auto size_of_bytes = std::filesystem::file_size(written(bytes, "bytes.onnx"));
  const auto size_of_halves = std::filesystem::file_size(written(halves, "halves.onnx"));
  // What is saved beyond that are zero points, which go without saying.
  EXPECT_GE(size_of_bytes - size_of_halves, weights_of(halves) / 2 - 100);
  EXPECT_EQ(load_model(path("bytes.onnx"), {}, nullptr).opset, bytes.integer.opset);
  EXPECT_EQ(load_model(path("halves.onnx"), {}, nullptr).opset, 21);
}

TEST_F(PackedWeights, AreThoseOfTheLayersThatHaveFourBits) {
  Config config = config_with({"target=qnn"});
  LayerRule rule;
  rule.op = "Gemm";
  rule.weights.bits = 3;
  config.layers = {rule};
  const QuantizeResult result =
      quantize(digits_.model, *digits_.data, config, Toolkit::builtin(), {.samples = 20});
  EXPECT_EQ(packed_constants(load_model(written(result, "one.onnx"), {}, nullptr)), 1U);
  for (const char* settings : {"target=qnn", "target=ort-cpu", "target=tensorrt"}) {
    const QuantizeResult plain = quantized({settings});
    EXPECT_EQ(packed_constants(load_model(written(plain, "none.onnx"), {}, nullptr)), 0U);
  }
  const QuantizeResult here = quantized({"weights.bits=4"});
  EXPECT_EQ(packed_constants(load_model(written(here, "here.onnx"), {}, nullptr)), 0U)
      << "the default target would only become slower";
}

TEST_F(PackedWeights, ReadBackToTheIntegerGraphWithAnyZeroPoint) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"weights.storage=int8"},
        {"weights.storage=uint8", "weights.symmetric=false"},
        {"weights.storage=int8", "weights.symmetric=false", "weights.narrow=false"},
        {"weights.granularity=per_tensor"}}) {
    std::vector<std::string> all{"weights.bits=4", "weights.packed=true"};
    all.insert(all.end(), settings.begin(), settings.end());
    const QuantizeResult result = quantized(all);
    const Graph file = load_model(written(result, "q.onnx"), {}, nullptr);
    EXPECT_GE(packed_constants(file), 15U) << settings[0];
    const Graph again = lower_quantized(file, {}, Toolkit::builtin());
    EXPECT_EQ(structural_difference(result.integer, again), "") << settings[0];
  }
}

TEST_F(PackedWeights, AreBytesInFormsWhoseOperatorsTakeBytes) {
  const QuantizeResult result = quantized({"weights.bits=4", "weights.packed=true"});
  for (const Form form : {Form::kQoperator, Form::kInteger}) {
    const Graph file = load_model(written(result, "q.onnx", form), {}, nullptr);
    EXPECT_EQ(packed_constants(file), 0U);
    const Graph again = lower_quantized(file, {}, Toolkit::builtin());
    EXPECT_EQ(structural_difference(result.integer, again), "");
  }
}

TEST_F(PackedWeights, AreSaidToRunInFloatWhereTheyDo) {
  const QuantizeResult result = quantized({"target=qnn", "weights.bits=4"});
  const Graph file = load_model(written(result, "q.onnx"), {}, nullptr);
  for (const Verdict& verdict : verdicts(file, read_target("qnn"))) {
    EXPECT_EQ(verdict.because, "") << verdict.node;
  }
  EXPECT_TRUE(lint(file, read_target("qnn")).empty());
  std::size_t products = 0;
  for (const Verdict& verdict : verdicts(file, read_target("ort-cpu"))) {
    if (verdict.op == "Conv") {
      ++products;
      EXPECT_EQ(verdict.because,
                "its weights have 4 bits in the file, which the target dequantizes");
    }
  }
  EXPECT_GT(products, 10U);
  const auto findings = lint(file, read_target("ort-cpu"));
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const LintFinding& finding) {
    return finding.rule == "weights are stored in bytes" && finding.what == "they have 4 bits";
  }));
}

TEST(ActivationsOfFewBits, AreNotTakenForPackedWeights) {
  const Graph model = parse(
      "graph \"g\" opset 17 (%a : f32[1,2,4], %b : f32[1,4,2]) -> (%y) {\n"
      "%c = Relu(%b) : f32[1,4,2]\nproduct: %y = MatMul(%a, %c) : f32[1,2,2]\n}");
  Tensor a(DType::kFloat32, {8, 2, 4});
  Tensor b(DType::kFloat32, {8, 4, 2});
  for (std::size_t i = 0; i < 64; ++i) {
    a.mutable_view<float>()[i] = std::sin(static_cast<float>(i));
    b.mutable_view<float>()[i] = std::cos(static_cast<float>(i));
  }
  const SamplesInMemory data({{"a", std::move(a)}, {"b", std::move(b)}});
  const QuantizeResult result =
      quantize(model, data, config_with({"activations.bits=4", "objective=coverage"}),
               Toolkit::builtin());
  const auto product =
      std::find_if(result.verdicts.begin(), result.verdicts.end(),
                   [](const Verdict& verdict) { return verdict.node == "product"; });
  ASSERT_NE(product, result.verdicts.end());
  EXPECT_EQ(product->because, "");
}

}  // namespace
}  // namespace tare::test
