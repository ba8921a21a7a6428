// data/onnxruntime_*.onnx: data/digits.onnx, quantized by ONNX Runtime's own quantizer on
// data/digits_calibration.h5 with scripts/quantize_with_onnxruntime.py.
#include "compare/compared.h"

#include <set>

#include <gtest/gtest.h>

namespace tare {
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

}  // namespace
}  // namespace tare
