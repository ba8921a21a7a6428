// What a real ONNX Runtime makes of imported TensorFlow Lite models, against TensorFlow Lite.
#include "tare/pipeline.h"
#include "tare/tflite.h"

#include "calibrate/samples_in_memory.h"
#include "judge.h"
#include "raw_samples.h"
#include "tflite/golden.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>
#include <unistd.h>

namespace tare {
namespace {

namespace fs = std::filesystem;
using testing::Golden;

class JudgedTflite : public ::testing::TestWithParam<Golden> {
 protected:
  void SetUp() override {
    std::string why;
    judge_ = Judge::find(why);
    if (!judge_) {
      GTEST_SKIP() << why;
    }
    folder_ = fs::path(::testing::TempDir()) /
              ("tare_judged_tflite_" + GetParam().name + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::optional<Judge> judge_;
  fs::path folder_;
};

/// The stored inputs as samples.
SamplesInMemory samples_of(const tflite::ModelFile& file,
                           const std::vector<testing::GoldenRun>& runs) {
  std::map<std::string, Tensor> inputs;
  for (const int input : file.inputs) {
    const auto& tensor = file.tensors[static_cast<std::size_t>(input)];
    Shape shape = tensor.type.shape;
    shape[0] *= static_cast<std::int64_t>(runs.size());
    Tensor all(tensor.type.dtype, shape);
    std::byte* to = all.mutable_data();
    for (const auto& run : runs) {
      const Tensor& one = run.inputs.at(input);
      to = std::copy(one.data(), one.data() + one.byte_size(), to);
    }
    inputs.emplace(tensor.name, std::move(all));
  }
  return SamplesInMemory(std::move(inputs));
}

std::ptrdiff_t top(std::span<const float> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

TEST_P(JudgedTflite, GivesWhatTensorFlowLiteGives) {
  const tflite::ModelFile file(GetParam().model);
  const auto runs = testing::golden_runs(GetParam(), file, "default");
  ASSERT_FALSE(runs.empty());
  Graph model = read_tflite(GetParam().model);
  const bool quantized = is_quantized(model);
  if (quantized) {
    const Target target = read_target("ort-cpu");
    model = to_qdq(with_storage_of(lower_quantized(model, {}, Toolkit::builtin()), target));
  }
  write_onnx(model, folder_ / "model.onnx");
  const auto results = judge_->run(folder_ / "model.onnx",
                                   write_raw_samples(model, samples_of(file, runs), 0, folder_),
                                   folder_ / "outputs");
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
    // Steps of the storage type, or of float32 through a few dozen layers.
    float largest = 0;
    for (const float value : theirs) {
      largest = std::max(largest, std::abs(value));
    }
    const float step = output.type.quant ? 1 : 1e-5F * largest;
    for (std::size_t i = 0; i < width; ++i) {
      apart += std::abs(ours[i] - theirs[i]) > step ? 1 : 0;
    }
  }
  // The average of 64 values lies on a half once in 64 times: away from zero in TensorFlow
  // Lite, to even in ONNX Runtime. A Softmax of ten widens one step to some.
  const double share = GetParam().name == "resnet8_i8" ? 0.05 : 0.01;
  EXPECT_LE(static_cast<double>(apart), share * static_cast<double>(results[0].size()));
}

/// Those whose arithmetic is fixed: of hybrid ones TensorFlow Lite quantizes the activations
/// while running, each by its own range.
std::vector<Golden> judgeable() {
  std::vector<Golden> all = testing::golden_networks();
  std::erase_if(all, [](const Golden& golden) {
    return golden.name == "kws_svdf_8bit" || golden.name.ends_with("hybrid");
  });
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JudgedTflite);
INSTANTIATE_TEST_SUITE_P(Files, JudgedTflite, ::testing::ValuesIn(judgeable()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare
