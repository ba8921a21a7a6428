// Detectors whose boxes are picked by NonMaxSuppression: what stands behind the last layer runs
// here as in ONNX Runtime, and the written file has it as the float one has.
#include "tare/graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/toolkit.h"

#include "raw_samples.h"
#include "support/files/samples_in_memory.h"
#include "support/tensors.h"
#include "with_onnxruntime.h"

#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kSamples = 40;
constexpr std::size_t kCompared = 5;
constexpr std::size_t kOfSample = std::size_t{3} * 8 * 8;

class Detector : public WithOnnxRuntime {
 protected:
  void SetUp() override {
    WithOnnxRuntime::SetUp();
    if (IsSkipped()) {
      return;
    }
    Graph graph = parse(R"(graph "detector" opset 13 (%x : f32[1,3,8,8]) -> (%picked, %order) {
  const %begin : i64[1] = [0]
  const %four : i64[1] = [4]
  const %end : i64[1] = [6]
  const %axis : i64[1] = [1]
  const %most : i64[1] = [6]
  const %overlap : f32[1] = [0.4]
  const %least : f32[1] = [0.5]
  const %column : i64[] = [2]
  const %flat : i64[3] = [1, 6, 64]
  %n = Relu(%x) : f32[1,6,8,8]
  %f = Reshape(%n, %flat) : f32[1,6,64]
  %b = Slice(%f, %begin, %four, %axis) : f32[1,4,64]
  %s = Slice(%f, %four, %end, %axis) : f32[1,2,64]
  %scores = Sigmoid(%s) : f32[1,2,64]
  %boxes = Transpose(%b) {perm=[0, 2, 1]} : f32[1,64,4]
  %found = NonMaxSuppression(%boxes, %scores, %most, %overlap, %least) : i64[7,3]
  %which = Gather(%found, %column) {axis=1} : i64[7]
  %kept = Gather(%boxes, %which) {axis=1} : f32[1,7,4]
  %picked = Squeeze(%kept, %begin) : f32[7,4]
  %order = Cast(%which) {to=1} : f32[7]
}
)");
    const ValueId x = graph.inputs()[0];
    const ValueId weight = graph.add_constant("weight", normal_tensor({6, 3, 1, 1}, 3));
    const NodeId conv =
        graph.add_node("conv", "Conv", {x, weight},
                       {{"c", graph.type(graph.node(*graph.find_node("n")).outputs[0])}});
    graph.set_input(*graph.find_node("n"), 0, graph.node(conv).outputs[0]);
    write_onnx(graph, folder_ / "float.onnx");
  }

  SamplesInMemory sample(std::size_t i) const {
    const auto all = samples_.view<float>().subspan(i * kOfSample, kOfSample);
    return SamplesInMemory({{"x", Tensor::of<float>({1, 3, 8, 8}, all)}});
  }

  /// Each sample has its own number of boxes.
  void expect_same(const std::filesystem::path& file) const {
    for (std::size_t i = 0; i < kCompared; ++i) {
      const SamplesInMemory data = sample(i);
      const Graph graph = ready_to_run(load_model(file, {}, &data), {}, Toolkit::builtin());
      std::map<std::string, Tensor> ours;
      run_model(graph, data, 1, 0, [&](std::size_t, std::map<std::string, Tensor> outputs) {
        ours = std::move(outputs);
      });
      const auto theirs =
          runtime_->run(file, write_raw_samples(graph, data, 0, folder_), folder_ / "outputs");
      EXPECT_GT(ours.at("picked").size(), 0);
      EXPECT_EQ(ours.at("order").to_float(), theirs[1]);
      // Sums of a few float32 products in another order.
      EXPECT_LT(relative_error(ours.at("picked").view<float>(), theirs[0]), 1e-10);
    }
  }

  Tensor samples_ = normal_tensor({kSamples, 3, 8, 8}, 5);
};

TEST_F(Detector, RunsAsInOnnxRuntime) {
  expect_same(folder_ / "float.onnx");
}

TEST_F(Detector, RunsAsInOnnxRuntimeWhenItIsQuantized) {
  const SamplesInMemory data({{"x", samples_}});
  const QuantizeResult result =
      quantize(load_model(folder_ / "float.onnx", {}, &data), data, {}, Toolkit::builtin());
  EXPECT_FALSE(result.simulated.regions.empty());
  write_onnx(result.qdq, folder_ / "quantized.onnx");
  expect_same(folder_ / "quantized.onnx");
}

}  // namespace
}  // namespace tare::test
