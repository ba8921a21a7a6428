// A float network quantized here, and the same one quantized by TensorFlow Lite and imported:
// what devices are to match looks the same.
#include "tare/partition.h"
#include "tare/pipeline.h"

#include "calibrate/samples_in_memory.h"
#include "tflite/golden.h"
#include "tflite/import.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

namespace tare {
namespace {

using testing::Golden;

std::optional<Golden> network(const std::string& name) {
  for (const Golden& golden : testing::golden_networks()) {
    if (golden.name == name) {
      return golden;
    }
  }
  return std::nullopt;
}

/// The inputs of all calls that were kept of a float network.
SamplesInMemory samples_of(const Golden& golden, const tflite::ModelFile& file) {
  const auto runs = testing::golden_runs(golden, file, "default");
  const auto& input = file.tensors[static_cast<std::size_t>(file.inputs[0])];
  Shape shape = input.type.shape;
  shape[0] = static_cast<std::int64_t>(runs.size());
  Tensor all(DType::kFloat32, shape);
  std::byte* to = all.mutable_data();
  for (const auto& run : runs) {
    const Tensor& one = run.inputs.at(file.inputs[0]);
    to = std::copy(one.data(), one.data() + one.byte_size(), to);
  }
  return SamplesInMemory({{input.name, all}});
}

Graph quantized_here(const Golden& golden) {
  const tflite::ModelFile file(golden.model);
  const SamplesInMemory data = samples_of(golden, file);
  Config config;
  config.objective = Objective::kCoverage;
  return quantize(tflite::import_model(file), data, config, Toolkit::builtin()).integer;
}

/// The regions of an integer graph in their order: pattern and operators, without conversions
/// at the ends of the network and what lies between these and the first and the last product.
std::vector<std::string> regions(const Graph& integer) {
  std::vector<std::string> result;
  for (const OffloadRegion& region : partition(integer, integer_patterns())) {
    std::string text = region.pattern + ":";
    for (const NodeId id : region.nodes) {
      text += " " + integer.node(id).op;
    }
    result.push_back(text);
  }
  return result;
}

void expect_equal_forms(const std::string& name_of_float, const std::string& name_of_integers) {
  const auto of_float = network(name_of_float);
  const auto of_integers = network(name_of_integers);
  if (!of_float || !of_integers) {
    GTEST_SKIP() << "the networks are not there";
  }
  const tflite::ModelFile file(of_integers->model);
  EXPECT_EQ(regions(quantized_here(*of_float)),
            regions(testing::integer_graph(file, Numerics::kOnnx)));
}

TEST(Twins, OfAResidualNetworkHaveEqualForms) {
  expect_equal_forms("resnet8_f32", "resnet8_i8");
}

TEST(Twins, OfDenseLayersHaveEqualForms) {
  expect_equal_forms("ad_toycar_f32", "ad_toycar_i8");
}

TEST(Twins, AreComparedLayerByLayer) {
  const auto of_float = network("resnet8_f32");
  const auto of_integers = network("resnet8_i8");
  if (!of_float || !of_integers) {
    GTEST_SKIP() << "the networks are not there";
  }
  const Report report = compare_models(
      {.real = load_model(of_float->model, {}, nullptr),
       .quantized = load_model(of_integers->model, {}, nullptr),
       .factors = read_factors(of_integers->model),
       .numerics = Numerics::kTfliteRef},
      samples_of(*of_float, tflite::ModelFile(of_float->model)), {}, Toolkit::builtin());
  std::map<std::string, int> ops;
  for (const LayerReport& layer : report.layers) {
    ++ops[layer.op];
    EXPECT_FALSE(layer.point.empty()) << layer.name;
    // Eight bits of which the worst layer uses five; values that are not each other's would
    // have about 0 dB, and so would weights.
    ASSERT_TRUE(layer.local && layer.local->sqnr) << layer.name;
    EXPECT_GT(*layer.local->sqnr, 25) << layer.name;
    if (layer.op == "Conv" || layer.op == "Gemm") {
      ASSERT_TRUE(layer.weight && layer.weight->sqnr) << layer.name;
      EXPECT_GT(*layer.weight->sqnr, 35) << layer.name;
    }
  }
  EXPECT_EQ(ops,
            (std::map<std::string, int>{
                {"Add", 3}, {"AveragePool", 1}, {"Conv", 9}, {"Gemm", 1}, {"Softmax", 1}}));
  EXPECT_EQ(report.points.front().value, "input_1");
}

}  // namespace
}  // namespace tare
