// data/onnxruntime_*.onnx: data/digits.onnx, quantized by ONNX Runtime's own quantizer on
// data/digits_calibration.h5 with scripts/quantize_with_onnxruntime.py.
#include "compare/compared.h"
#include "support/files/samples_in_memory.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Report report_on(const std::string& file) {
  const TestModel digits = test_models()[0];
  const auto data = open_dataset(digits.evaluation);
  const auto path =
      std::filesystem::path(TARE_SOURCE_DIR) / "tests" / "compare" / "data" / file;
  return compare_models({.real = load_model(digits.model, {}, data.get()),
                         .quantized = load_model(path, {}, data.get()),
                         .factors = {},
                         .numerics = {}},
                        *data, {}, Toolkit::builtin(), {.samples = 50});
}

class OtherTools : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Files, OtherTools,
                         ::testing::Values("onnxruntime_qdq", "onnxruntime_qoperator"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(OtherTools, FilesAreComparedLayerByLayerUnderTheNamesOfTheFloatModel) {
  const Report report = report_on(std::string(GetParam()) + ".onnx");
  const TestModel digits = test_models()[0];
  const Graph prepared = prepare(load_model(digits.model, {}, nullptr), Toolkit::builtin());
  std::set<std::string> wanted;
  for (const NodeId id : prepared.nodes()) {
    const Node& node = prepared.node(id);
    if (node.op == "Conv" || node.op == "Gemm" || node.op == "Add" || node.op == "Concat" ||
        node.op == "GlobalAveragePool") {
      wanted.insert(node.name);
    }
  }
  std::set<std::string> found;
  for (const LayerReport& layer : report.layers) {
    found.insert(layer.name);
    EXPECT_FALSE(layer.point.empty()) << layer.name;
    EXPECT_FALSE(layer.runs_as.empty()) << layer.name;
    ASSERT_TRUE(layer.local && layer.local->sqnr) << layer.name;
    ASSERT_TRUE(layer.cumulative && layer.cumulative->sqnr) << layer.name;
    // Eight bits of a range that is used by half or more; a value held against another one
    // would have about 0 dB.
    EXPECT_GT(*layer.local->sqnr, 30) << layer.name;
    EXPECT_GT(*layer.cumulative->sqnr, 25) << layer.name;
    const bool is_product = layer.op == "Conv" || layer.op == "Gemm";
    ASSERT_EQ(layer.weight.has_value(), is_product) << layer.name;
    if (is_product) {
      EXPECT_GT(*layer.weight->sqnr, 35) << layer.name;
      EXPECT_TRUE(layer.accumulator) << layer.name;
    }
  }
  EXPECT_EQ(found, wanted);
}

TEST(OtherToolsForms, GiveEqualReportsWhereTheySayTheSame) {
  const Report qdq = report_on("onnxruntime_qdq.onnx");
  const Report qoperator = report_on("onnxruntime_qoperator.onnx");
  ASSERT_EQ(qdq.layers.size(), qoperator.layers.size());
  for (std::size_t i = 0; i < qdq.layers.size(); ++i) {
    EXPECT_EQ(qdq.layers[i].local->sqnr, qoperator.layers[i].local->sqnr);
    EXPECT_EQ(qdq.layers[i].cumulative->sqnr, qoperator.layers[i].cumulative->sqnr);
  }
}

/// A batch norm that ONNX Runtime's quantizer found unfolded: its factors are quantized too,
/// and what expresses them depends on no sample.
constexpr const char* kBatchNorm = R"(
graph "quantized" opset 17 (%x : f32[1,2,2,2]) -> (%y) {
  const %scale : f32[] = [0.02]
  const %zero : u8[] = [128]
  const %w_quantized : i8[2,2,1,1] = [100, -50, 25, 127]
  const %w_scale : f32[] = [0.01]
  const %w_zero : i8[] = [0]
  const %g_quantized : i8[2] = [64, 100]
  const %shift : f32[2] = [0.25, -0.5]
  const %mean : f32[2] = [0.1, 0.2]
  const %variance : f32[2] = [1.5, 0.75]
  %x_quantized = QuantizeLinear(%x, %scale, %zero) : u8[1,2,2,2]
  %x_dequantized = DequantizeLinear(%x_quantized, %scale, %zero) : f32[1,2,2,2]
  %w = DequantizeLinear(%w_quantized, %w_scale, %w_zero) : f32[2,2,1,1]
  %g = DequantizeLinear(%g_quantized, %w_scale, %w_zero) : f32[2]
  %c = Conv(%x_dequantized, %w) : f32[1,2,2,2]
  %c_quantized = QuantizeLinear(%c, %scale, %zero) : u8[1,2,2,2]
  %c_dequantized = DequantizeLinear(%c_quantized, %scale, %zero) : f32[1,2,2,2]
  %b = BatchNormalization(%c_dequantized, %g, %shift, %mean, %variance) : f32[1,2,2,2]
  %b_quantized = QuantizeLinear(%b, %scale, %zero) : u8[1,2,2,2]
  %y = DequantizeLinear(%b_quantized, %scale, %zero) : f32[1,2,2,2]
}
)";

TEST(QuantizedBefore, IsReportedOnAsTheSameNetwork) {
  std::vector<float> samples;
  for (int i = 0; i < 4 * 8; ++i) {
    samples.push_back(std::sin(static_cast<float>(i)));
  }
  const SamplesInMemory data({{"x", Tensor::of<float>({4, 2, 2, 2}, samples)}});
  const Toolkit& toolkit = Toolkit::builtin();
  const QuantizeResult result = quantize(parse(kBatchNorm), data, {}, toolkit);
  const Report report = compare_result(result, data, toolkit);
  EXPECT_TRUE(report.outputs.at(0).error.exact);
  std::vector<std::string> layers;
  for (const LayerReport& layer : report.layers) {
    layers.push_back(layer.name);
  }
  EXPECT_EQ(layers, (std::vector<std::string>{"c", "b"}));
}

}  // namespace
}  // namespace tare::test
