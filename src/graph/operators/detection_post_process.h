#pragma once

#include "tare/node.h"
#include "tare/tensor.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tare {

// The operator DetectionPostProcess: what detectors of TensorFlow Lite end with, there the
// custom operator TFLite_Detection_PostProcess
// (tensorflow/lite/kernels/detection_postprocess.cc). It reads encodings of boxes [1,N,4 or
// more], scores [1,N,classes] with the classes last that count, and anchors [N,4], each a
// centre and a size in the order y x height width. Of the boxes it keeps those that no better
// one overlaps.

inline constexpr std::string_view kDetectionPostProcess = "DetectionPostProcess";

/// Its attributes.
struct DetectionOptions {
  std::int64_t classes = 0;
  std::int64_t max_detections = 0;
  std::int64_t max_classes_per_detection = 1;
  std::int64_t detections_per_class = 100;
  bool by_class = false;  ///< boxes of other classes suppress nothing
  float score_threshold = 0;
  float overlap_threshold = 0;  ///< intersection over union
  float y_scale = 1;
  float x_scale = 1;
  float height_scale = 1;
  float width_scale = 1;

  /// Rows of its results, used or not.
  std::int64_t rows() const { return max_detections * max_classes_per_detection; }
};

Attributes to_attributes(const DetectionOptions&);
/// Throws Error(kInvalidModel) for attributes that make no sense.
DetectionOptions detection_options(const Attributes&);

/// Types of the results: boxes [1,rows,4] as [top, left, bottom, right], classes [1,rows],
/// scores [1,rows], and how many boxes there are [1], all f32. Throws Error(kInvalidModel)
/// where the shapes do not fit together.
std::vector<TensorType> detection_types(const DetectionOptions&, const Shape& boxes,
                                        const Shape& scores, const Shape& anchors);

/// What the results hold; rows that are not used are 0.
struct Detections {
  std::span<float> boxes;
  std::span<float> classes;
  std::span<float> scores;
  std::span<float> count;
};

/// `coordinates`: of an encoding, of which 4 count; `columns`: scores of a box, the last
/// DetectionOptions::classes of which count.
void detect(const DetectionOptions&, std::span<const float> encodings, std::size_t coordinates,
            std::span<const float> scores, std::size_t columns, std::span<const float> anchors,
            const Detections&);

}  // namespace tare
