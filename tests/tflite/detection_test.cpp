// TFLite_Detection_PostProcess in files: what it reads, its options, and shapes that are left
// open.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include "support/message.h"
#include "tflite/golden.h"
#include "tflite/import.h"
#include "tflite/tflite_builder.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using namespace tflite::schema;
using tare::Tensor;  // and not that of files

/// Of one class, with that threshold of overlap.
std::map<std::string, double> options(double overlap) {
  return {{"num_classes", 1},
          {"max_detections", 2},
          {"max_classes_per_detection", 1},
          {"nms_score_threshold", 0.25},
          {"nms_iou_threshold", overlap},
          {"y_scale", 10},
          {"x_scale", 10},
          {"h_scale", 5},
          {"w_scale", 5}};
}

std::vector<std::uint8_t> valid_options() {
  return flexbuffer_map(options(0.5));
}

/// Two boxes, apart from each other, in int8 with parameters; anchors are uint8 constants.
std::vector<std::byte> detector(const std::vector<std::uint8_t>& given, const Shape& boxes) {
  TfliteBuilder file;
  const int encodings =
      file.value("encodings", {1, 2, 4}, TensorType_INT8, per_tensor(0.5F, -10));
  const int scores =
      file.value("scores", {1, 2, 1}, TensorType_INT8, per_tensor(0.00390625F, -128));
  const int anchors = file.constant(
      "anchors",
      Tensor::of<std::uint8_t>({2, 4}, std::vector<std::uint8_t>{2, 2, 4, 4, 12, 12, 4, 4}),
      per_tensor(0.25F, 0));
  const std::vector<int> results{file.value("boxes", boxes), file.value("classes", {1, 2}),
                                 file.value("scores_found", {1, 2}), file.value("count", {1})};
  file.custom_op("TFLite_Detection_PostProcess", {encodings, scores, anchors}, results, given);
  return file.finish({encodings, scores}, results);
}

TEST(TfliteDetection, ReadsRealValuesOfQuantizedTensors) {
  const Graph graph =
      tflite::import_model(tflite::ModelFile(detector(valid_options(), {1, 2, 4})));
  const NodeId node = *graph.producer(*graph.find_value("boxes"));
  for (const ValueId operand : graph.node(node).inputs) {
    EXPECT_EQ(graph.type(operand).dtype, DType::kFloat32) << graph.name(operand);
  }
  // -10 stands for 0, so boxes are their anchors; -64 for a score of 1/4, 0 for 1/2.
  const std::vector<Tensor> given{
      Tensor::of<std::int8_t>({1, 2, 4}, std::vector<std::int8_t>(8, -10)),
      Tensor::of<std::int8_t>({1, 2, 1}, std::vector<std::int8_t>{-64, 0})};
  const std::vector<Tensor> found = Executable(graph).run(given);
  EXPECT_EQ(found[0].to_float(), (std::vector<float>{2.5, 2.5, 3.5, 3.5, 0, 0, 1, 1}));
  EXPECT_EQ(found[2].to_float(), (std::vector<float>{0.5, 0.25}));
  EXPECT_EQ(found[3].to_float(), std::vector<float>{2});
}

TEST(TfliteDetection, TakesResultsWhoseShapeTheFileLeavesOpen) {
  const Graph graph = tflite::import_model(tflite::ModelFile(detector(valid_options(), {})));
  EXPECT_EQ(graph.type(*graph.find_value("boxes")).shape, (Shape{1, 2, 4}));
}

TEST(TfliteDetection, RefusesResultsOfAnotherShape) {
  EXPECT_NE(message_of(
                [] {
                  return tflite::import_model(
                      tflite::ModelFile(detector(valid_options(), {1, 3, 4})));
                },
                ErrorCode::kInvalidModel)
                .find("boxes"),
            std::string::npos);
}

TEST(TfliteDetection, SaysWhatIsWrongWithItsOptions) {
  const auto error = [](const std::vector<std::uint8_t>& given) {
    return message_of(
        [&] {
          return tflite::import_model(tflite::ModelFile(detector(given, {1, 2, 4})));
        },
        ErrorCode::kInvalidModel);
  };
  EXPECT_NE(error({}).find("its options are damaged"), std::string::npos);
  EXPECT_NE(error({1, 2, 3}).find("its options are damaged"), std::string::npos);
  auto incomplete = options(0.5);
  incomplete.erase("nms_iou_threshold");
  EXPECT_NE(error(flexbuffer_map(incomplete)).find("has no option 'nms_iou_threshold'"),
            std::string::npos);
  EXPECT_NE(
      error(flexbuffer_map(options(2))).find("nms_iou_threshold is not above 0 and at most 1"),
      std::string::npos);
}

TEST(TfliteDetection, SurvivesAnyByteOfItsOptions) {
  const std::vector<std::uint8_t> valid = valid_options();
  for (std::size_t i = 0; i < valid.size(); ++i) {
    for (const std::uint8_t flipped : {0x01, 0x80, 0xFF}) {
      std::vector<std::uint8_t> damaged = valid;
      damaged[i] ^= flipped;
      try {
        tflite::import_model(tflite::ModelFile(detector(damaged, {})));
      } catch (const Error&) {
        // Whatever it says.
      }
    }
  }
}

}  // namespace
}  // namespace tare::test
