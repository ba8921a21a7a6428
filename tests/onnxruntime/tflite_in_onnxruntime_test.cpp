// What a real ONNX Runtime makes of imported TensorFlow Lite models, against TensorFlow Lite.

#include "tare/model_files.h"
#include "tare/quantize.h"

#include "lower/forms/forms.h"
#include "raw_samples.h"
#include "tflite/golden.h"
#include "tflite/import.h"
#include "with_onnxruntime.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class TfliteInOnnxRuntime : public WithOnnxRuntime,
                            public ::testing::WithParamInterface<Golden> {
 protected:
  /// As `tare import` writes it.
  Graph write() const {
    const tflite::ModelFile file(GetParam().model);
    const Graph model = tflite::import_model(file);
    const Graph written =
        is_quantized(model) ? to_qdq(integer_graph(file, read_target("ort-cpu"))) : model;
    write_onnx(written, file_);
    return written;
  }

  const std::filesystem::path file_ = path("model.onnx");
};

/// Of those TensorFlow Lite quantizes activations while running, each by its own range.
bool is_hybrid(const Golden& golden) {
  return golden.name.ends_with("hybrid");
}

std::ptrdiff_t top(std::span<const float> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

TEST_P(TfliteInOnnxRuntime, GivesWhatTensorFlowLiteGives) {
  const tflite::ModelFile file(GetParam().model);
  const auto runs = golden_runs(GetParam(), file, "default");
  ASSERT_FALSE(runs.empty());
  const Graph model = write();
  const auto results = runtime_->run(
      file_, write_raw_samples(model, samples_of(file, runs), 0, folder_), path("outputs"));
  ASSERT_EQ(results.size(), 1U);

  const auto& output = file.tensors[static_cast<std::size_t>(file.outputs[0])];
  const std::size_t width = results[0].size() / runs.size();
  std::size_t apart = 0;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const std::span<const float> ours(results[0].data() + k * width, width);
    const std::vector<float> theirs = runs[k].results.at(file.outputs[0]).to_float();
    ASSERT_EQ(theirs.size(), width);
    // Equal scores may come in either order.
    EXPECT_EQ(theirs[static_cast<std::size_t>(top(ours))],
              *std::max_element(theirs.begin(), theirs.end()))
        << "sample " << k;
    // Steps of the storage type, of activations that are quantized while running, or of float32
    // through a few dozen layers: 1e-6 of scores of up to 30, whose errors a Softmax hands on.
    float largest = 0;
    for (const float value : theirs) {
      largest = std::max(largest, std::abs(value));
    }
    const float step = output.type.quant       ? 1
                       : is_hybrid(GetParam()) ? largest / 255
                                               : 3e-5F * largest;
    for (std::size_t i = 0; i < width; ++i) {
      apart += std::abs(ours[i] - theirs[i]) > step ? 1 : 0;
    }
  }
  EXPECT_LE(static_cast<double>(apart), 0.01 * static_cast<double>(results[0].size()));
}

TEST_P(TfliteInOnnxRuntime, RunsOnIntegerKernelsWhereTheFileIsQuantized) {
  const tflite::ModelFile file(GetParam().model);
  if (!file.tensors[static_cast<std::size_t>(file.outputs[0])].type.quant) {
    GTEST_SKIP() << "computes on real values";
  }
  (void)write();
  for (const auto& [op, count] : runtime_->kernels(file_)) {
    for (const char* real : {"Conv", "FusedConv", "Gemm", "MatMul", "Add", "AveragePool"}) {
      EXPECT_NE(op, real) << count;
    }
  }
}

std::vector<Golden> runnable_models() {
  std::vector<Golden> all = golden_networks();
  std::erase_if(all, [](const Golden& golden) { return golden.name == "kws_svdf_8bit"; });
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TfliteInOnnxRuntime);
INSTANTIATE_TEST_SUITE_P(Files, TfliteInOnnxRuntime, ::testing::ValuesIn(runnable_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare::test
