// The function of ONNX operators that stands for DetectionPostProcess in files, in ONNX
// Runtime.
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/model_files.h"

#include "graph/operators/detection_post_process.h"
#include "raw_samples.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "with_onnxruntime.h"

#include <array>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kBoxes = 60;
constexpr std::int64_t kClasses = 5;

Tensor numbers(Random& random, Shape shape, float low, float high) {
  Tensor result(DType::kFloat32, std::move(shape));
  for (float& x : result.mutable_view<float>()) {
    x = low + (high - low) * static_cast<float>(random.integer(0, 1 << 20)) / (1 << 20);
  }
  return result;
}

struct KindOfDetection {
  bool by_class = false;
  std::int64_t per_detection = 1;
  float threshold = 0.3F;
};

class DetectionFunction : public WithOnnxRuntime, public ::testing::WithParamInterface<int> {};

TEST_P(DetectionFunction, GivesWhatTheKernelGives) {
  const std::array<KindOfDetection, 5> kinds{
      {{false, 1, 0.3F}, {false, 3, 0.3F}, {false, 7, 0.9F}, {true, 1, 0.3F}, {true, 2, 2.0F}}};
  const KindOfDetection kind = kinds.at(static_cast<std::size_t>(GetParam()) % kinds.size());
  Random random(static_cast<std::uint32_t>(GetParam()));
  const DetectionOptions options{.classes = kClasses,
                                 .max_detections = 8,
                                 .max_classes_per_detection = kind.per_detection,
                                 .detections_per_class = 4,
                                 .by_class = kind.by_class,
                                 .score_threshold = kind.threshold,
                                 .overlap_threshold = 0.5F,
                                 .y_scale = 10,
                                 .x_scale = 8,
                                 .height_scale = 5,
                                 .width_scale = 4};
  Graph graph;
  graph.graph_name = "detector";
  const Shape coded{1, kBoxes, 4};
  const Shape scored{1, kBoxes, kClasses + 1};
  const ValueId encodings = graph.add_input("encodings", f32(coded));
  const ValueId scores = graph.add_input("scores", f32(scored));
  const ValueId anchors =
      graph.add_constant("anchors", numbers(random, {kBoxes, 4}, 0.1F, 0.6F));
  const std::vector<TensorType> types = detection_types(options, coded, scored, {kBoxes, 4});
  std::vector<NamedType> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back({"y" + std::to_string(i), types[i]});
  }
  const NodeId node =
      graph.add_node("detect", std::string(kDetectionPostProcess), {encodings, scores, anchors},
                     results, to_attributes(options));
  graph.set_outputs(graph.node(node).outputs);
  verify(graph);

  const auto file = folder_ / "model.onnx";
  write_onnx(graph, file);
  EXPECT_EQ(read_onnx(file), graph);

  const Tensor code = numbers(random, coded, -5, 5);
  const Tensor score = numbers(random, scored, 0, 1);
  const auto theirs = runtime_->run(
      file,
      write_raw_samples(graph, SamplesInMemory({{"encodings", code}, {"scores", score}}), 0,
                        folder_),
      folder_ / "outputs");
  const auto ours = Executable(graph).run(std::vector<Tensor>{code, score});
  ASSERT_EQ(ours.size(), theirs.size());
  EXPECT_EQ(ours[3].to_float()[0] > 0, kind.threshold < 1);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto values = ours[i].to_float();
    ASSERT_EQ(values.size(), theirs[i].size());
    for (std::size_t k = 0; k < values.size(); ++k) {
      // They decode in float: an exponential, a product and a sum.
      EXPECT_NEAR(values[k], theirs[i][k], 1e-5) << "result " << i << " element " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfRandomBoxes, DetectionFunction, ::testing::Range(0, 15));

}  // namespace
}  // namespace tare::test
