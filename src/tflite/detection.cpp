// The custom operator that ends detectors; its options are a map in FlexBuffers.
#include "graph/operators/detection_post_process.h"
#include "tflite/operators.h"

#include <flatbuffers/flexbuffers.h>

namespace tare::tflite {
namespace {

/// The options by name. Throws where the bytes are no such map.
class CustomOptions {
 public:
  explicit CustomOptions(const OperatorImport& op) : op_(op) {
    const auto bytes = op.custom_options();
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    if (bytes.empty() || !flexbuffers::VerifyBuffer(data, bytes.size()) ||
        !flexbuffers::GetRoot(data, bytes.size()).IsMap()) {
      op.refuse("its options are damaged", "a map in FlexBuffers");
    }
    map_ = flexbuffers::GetRoot(data, bytes.size()).AsMap();
  }

  std::int64_t integer(const char* name) const { return required(name).AsInt64(); }
  std::int64_t integer(const char* name, std::int64_t fallback) const {
    const flexbuffers::Reference value = map_[name];
    return value.IsNull() ? fallback : value.AsInt64();
  }
  float number(const char* name) const { return required(name).AsFloat(); }
  bool is_true(const char* name) const { return !map_[name].IsNull() && map_[name].AsBool(); }

 private:
  flexbuffers::Reference required(const char* name) const {
    const flexbuffers::Reference value = map_[name];
    if (!value.IsNumeric()) {
      op_.refuse("has no option '" + std::string(name) + "'");
    }
    return value;
  }

  const OperatorImport& op_;
  flexbuffers::Map map_ = flexbuffers::Map::EmptyMap();
};

}  // namespace

void detection_post_process(OperatorImport& op, std::string_view) {
  if (op.input_count() != 3 || op.output_count() != 4) {
    op.refuse("has not three operands and four results");
  }
  const CustomOptions given(op);
  const Attributes attributes =
      to_attributes({.classes = given.integer("num_classes"),
                     .max_detections = given.integer("max_detections"),
                     .max_classes_per_detection = given.integer("max_classes_per_detection"),
                     .detections_per_class = given.integer("detections_per_class", 100),
                     .by_class = given.is_true("use_regular_nms"),
                     .score_threshold = given.number("nms_score_threshold"),
                     .overlap_threshold = given.number("nms_iou_threshold"),
                     .y_scale = given.number("y_scale"),
                     .x_scale = given.number("x_scale"),
                     .height_scale = given.number("h_scale"),
                     .width_scale = given.number("w_scale")});
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < 3; ++i) {
    operands.push_back(op.value(i, Order::kFile));
    if (op.graph().type(operands.back()).dtype != DType::kFloat32) {
      op.unsupported("operand " + std::to_string(i) + " is not float");
    }
  }
  const std::vector<TensorType> types =
      detection_types(detection_options(attributes), op.shape_of(operands[0]),
                      op.shape_of(operands[1]), op.shape_of(operands[2]));
  const std::vector<ValueId> results =
      op.add_several(std::string(kDetectionPostProcess), operands, types, attributes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    op.define_unshaped(results[i], i);
  }
}

}  // namespace tare::tflite
