// A float network quantized here, and the same one quantized by TensorFlow Lite and imported:
// what devices are to match looks the same.

#include "tare/model_files.h"

#include "lower/forms/forms.h"
#include "support/files/folder.h"
#include "support/random/random.h"
#include "tflite/golden.h"
#include "tflite/import.h"
#include "tflite/tflite_builder.h"
#include "tflite/twin_forms.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::optional<Golden> network(const std::string& name) {
  for (const Golden& golden : golden_networks()) {
    if (golden.name == name) {
      return golden;
    }
  }
  return std::nullopt;
}

void expect_equal_forms(const std::string& name_of_float, const std::string& name_of_integers) {
  const auto of_float = network(name_of_float);
  const auto of_integers = network(name_of_integers);
  if (!of_float || !of_integers) {
    GTEST_SKIP() << "the networks are not there";
  }
  const tflite::ModelFile real(of_float->model);
  const tflite::ModelFile integers(of_integers->model);
  const auto runs = golden_runs(*of_float, real, "default");
  EXPECT_EQ(regions(quantized_here(tflite::import_model(real), samples_of(real, runs))),
            regions(integer_graph(integers, Numerics::kOnnxRuntime)));
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
  const tflite::ModelFile file(of_float->model);
  const auto runs = golden_runs(*of_float, file, "default");
  const Report report =
      compare_models({.real = load_model(of_float->model, {}, nullptr),
                      .quantized = load_model(of_integers->model, {}, nullptr),
                      .factors = read_factors(of_integers->model),
                      .numerics = Numerics::kTfliteRef},
                     samples_of(file, runs), {}, Toolkit::builtin());
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

TEST(Twins, OfOneDenseLayerBehindAnotherHaveEqualForms) {
  expect_equal_forms("hello_world_f32", "hello_world_i8");
}

class WrittenTwins : public InFolder {};

TEST_F(WrittenTwins, HaveEqualForms) {
  const tflite::ModelFile real(small_float_twin());
  const tflite::ModelFile integers(small_quantized_network());
  const tflite::FileTensor& input = real.tensors[static_cast<std::size_t>(real.inputs[0])];
  Shape shape = input.type.shape;
  shape[0] = 16;
  const SamplesInMemory data({{input.name, Random(1).tensor(shape)}});
  const std::vector<std::string> imported =
      regions(integer_graph(integers, Numerics::kOnnxRuntime));
  EXPECT_EQ(regions(quantized_here(tflite::import_model(real), data)), imported);
  const Toolkit& toolkit = Toolkit::builtin();
  for (const char* target : {"ort-cpu", "tensorrt"}) {
    const Graph written = integer_graph(integers, read_target(target));
    write_onnx(to_qdq(written), path("written.onnx"));
    const Graph again =
        lower_quantized(load_model(path("written.onnx"), {}, nullptr), {}, toolkit);
    EXPECT_EQ(regions(again), regions(written)) << target;
  }
}

}  // namespace
}  // namespace tare::test
