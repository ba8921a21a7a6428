// Decodes boxes around their anchors (Liu et al., SSD: Single Shot MultiBox Detector, 2016) and
// suppresses those that a better one overlaps: among all boxes by their best class, or class by
// class. Decoding is in double, as in TensorFlow Lite. Cost: as suppress_non_maxima().
#include "graph/operators/detection_post_process.h"

#include "tare/error.h"

#include "graph/operators/non_max_suppression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace tare {
namespace {

constexpr std::size_t kCorners = 4;
constexpr std::int64_t kMost = 1 << 20;  // results are small, whatever a file says

void require(bool holds, const std::string& what) {
  if (!holds) {
    throw Error(ErrorCode::kInvalidModel, "", what);
  }
}

/// [top, left, bottom, right] of every box.
std::vector<float> decoded(const DetectionOptions& how, std::span<const float> encodings,
                           std::size_t coordinates, std::span<const float> anchors) {
  const std::size_t boxes = anchors.size() / kCorners;
  std::vector<float> corners(boxes * kCorners);
  for (std::size_t i = 0; i < boxes; ++i) {
    const float* code = encodings.data() + i * coordinates;
    const float* anchor = anchors.data() + i * kCorners;
    const auto centre = [&](std::size_t of, float scale) {
      return static_cast<float>(static_cast<double>(code[of]) / scale * anchor[of + 2] +
                                anchor[of]);
    };
    const auto half = [&](std::size_t of, float scale) {
      return static_cast<float>(0.5 * std::exp(static_cast<double>(code[of]) / scale) *
                                anchor[of]);
    };
    const float y = centre(0, how.y_scale);
    const float x = centre(1, how.x_scale);
    const float height = half(2, how.height_scale);
    const float width = half(3, how.width_scale);
    const std::array<float, kCorners> box{y - height, x - width, y + height, x + width};
    std::copy(box.begin(), box.end(),
              corners.begin() + static_cast<std::ptrdiff_t>(i * kCorners));
  }
  return corners;
}

/// Scores at the threshold count, those of suppress_non_maxima() have to be above it.
float just_below(float threshold) {
  return std::nextafter(threshold, -std::numeric_limits<float>::infinity());
}

class Detector {
 public:
  Detector(const DetectionOptions& how, std::vector<float> corners,
           std::span<const float> scores, std::size_t columns, const Detections& found)
      : how_(how),
        corners_(std::move(corners)),
        scores_(scores),
        columns_(columns),
        first_(columns - static_cast<std::size_t>(how.classes)),
        found_(found) {}

  /// Each box is of its best classes.
  void among_all() {
    const std::size_t boxes = corners_.size() / kCorners;
    std::vector<float> best(boxes);
    for (std::size_t i = 0; i < boxes; ++i) {
      const float* row = scores_of(i);
      best[i] = *std::max_element(row, row + how_.classes);
    }
    std::size_t at = 0;
    for (const auto& [batch, of_class, box] : suppressed(best, 1, how_.max_detections)) {
      put_best_classes(static_cast<std::size_t>(box), at);
      at += static_cast<std::size_t>(how_.max_classes_per_detection);
    }
    found_.count[0] =
        static_cast<float>(at / static_cast<std::size_t>(how_.max_classes_per_detection));
  }

  /// A box may be found once for each class.
  void by_class() {
    const std::size_t boxes = corners_.size() / kCorners;
    std::vector<float> by_class(boxes * static_cast<std::size_t>(how_.classes));
    for (std::size_t i = 0; i < boxes; ++i) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(how_.classes); ++c) {
        by_class[c * boxes + i] = scores_of(i)[c];
      }
    }
    auto selected = suppressed(by_class, how_.classes, how_.detections_per_class);
    const auto score = [&](const std::array<std::int64_t, 3>& one) {
      return scores_of(static_cast<std::size_t>(one[2]))[one[1]];
    };
    std::stable_sort(selected.begin(), selected.end(),
                     [&](const auto& a, const auto& b) { return score(a) > score(b); });
    selected.resize(std::min(selected.size(), static_cast<std::size_t>(how_.max_detections)));
    for (std::size_t at = 0; at < selected.size(); ++at) {
      put(static_cast<std::size_t>(selected[at][2]), selected[at][1], at);
    }
    found_.count[0] = static_cast<float>(selected.size());
  }

 private:
  const float* scores_of(std::size_t box) const {
    return scores_.data() + box * columns_ + first_;
  }

  std::vector<std::array<std::int64_t, 3>> suppressed(std::span<const float> scores,
                                                      std::int64_t classes,
                                                      std::int64_t most) const {
    return suppress_non_maxima(corners_, scores,
                               {.batches = 1,
                                .classes = classes,
                                .boxes = static_cast<std::int64_t>(corners_.size() / kCorners),
                                .most = most,
                                .overlap = how_.overlap_threshold,
                                .score = just_below(how_.score_threshold)});
  }

  void put_best_classes(std::size_t box, std::size_t at) {
    const float* row = scores_of(box);
    std::vector<std::int64_t> order(static_cast<std::size_t>(how_.classes));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const std::size_t most =
        static_cast<std::size_t>(std::min(how_.max_classes_per_detection, how_.classes));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return row[a] > row[b]; });
    for (std::size_t i = 0; i < most; ++i) {
      put(box, order[i], at + i);
    }
  }

  void put(std::size_t box, std::int64_t of_class, std::size_t at) {
    std::copy_n(corners_.begin() + static_cast<std::ptrdiff_t>(box * kCorners), kCorners,
                found_.boxes.begin() + static_cast<std::ptrdiff_t>(at * kCorners));
    found_.classes[at] = static_cast<float>(of_class);
    found_.scores[at] = scores_of(box)[of_class];
  }

  const DetectionOptions& how_;
  std::vector<float> corners_;
  std::span<const float> scores_;
  std::size_t columns_;
  std::size_t first_;  ///< the first score that counts, behind those of the background
  const Detections& found_;
};

}  // namespace

Attributes to_attributes(const DetectionOptions& options) {
  return {{"num_classes", options.classes},
          {"max_detections", options.max_detections},
          {"max_classes_per_detection", options.max_classes_per_detection},
          {"detections_per_class", options.detections_per_class},
          {"use_regular_nms", static_cast<std::int64_t>(options.by_class)},
          {"nms_score_threshold", options.score_threshold},
          {"nms_iou_threshold", options.overlap_threshold},
          {"y_scale", options.y_scale},
          {"x_scale", options.x_scale},
          {"h_scale", options.height_scale},
          {"w_scale", options.width_scale}};
}

DetectionOptions detection_options(const Attributes& attributes) {
  const DetectionOptions options{
      .classes = attributes.integer("num_classes"),
      .max_detections = attributes.integer("max_detections"),
      .max_classes_per_detection = attributes.integer("max_classes_per_detection"),
      .detections_per_class = attributes.integer("detections_per_class", 100),
      .by_class = attributes.integer("use_regular_nms", 0) != 0,
      .score_threshold = attributes.real("nms_score_threshold"),
      .overlap_threshold = attributes.real("nms_iou_threshold"),
      .y_scale = attributes.real("y_scale"),
      .x_scale = attributes.real("x_scale"),
      .height_scale = attributes.real("h_scale"),
      .width_scale = attributes.real("w_scale")};
  const auto is_count = [](std::int64_t count) { return count >= 1 && count <= kMost; };
  require(is_count(options.classes), "num_classes is not a number of classes");
  require(is_count(options.max_detections) && is_count(options.max_classes_per_detection) &&
              is_count(options.rows()),
          "max_detections and max_classes_per_detection are not numbers of results");
  require(is_count(options.detections_per_class),
          "detections_per_class is not a number of results");
  require(options.overlap_threshold > 0 && options.overlap_threshold <= 1,
          "nms_iou_threshold is not above 0 and at most 1");
  require(!std::isnan(options.score_threshold), "nms_score_threshold is no number");
  for (const float scale :
       {options.y_scale, options.x_scale, options.height_scale, options.width_scale}) {
    require(std::isfinite(scale) && scale != 0, "a scale is 0 or not finite");
  }
  return options;
}

std::vector<TensorType> detection_types(const DetectionOptions& options, const Shape& boxes,
                                        const Shape& scores, const Shape& anchors) {
  const auto width = static_cast<std::int64_t>(kCorners);
  require(boxes.size() == 3 && boxes[0] == 1 && boxes[2] >= width,
          "boxes are " + to_string(boxes) + " instead of [1,N,4]");
  require(scores.size() == 3 && scores[0] == 1 && scores[1] == boxes[1] &&
              scores[2] >= options.classes,
          "scores are " + to_string(scores) + " instead of [1," + std::to_string(boxes[1]) +
              "," + std::to_string(options.classes) + "]");
  require(
      anchors == Shape({boxes[1], width}),
      "anchors are " + to_string(anchors) + " instead of [" + std::to_string(boxes[1]) + ",4]");
  const auto type = [](Shape shape) {
    return TensorType{
        .dtype = DType::kFloat32, .shape = std::move(shape), .quant = {}, .point = {}};
  };
  const std::int64_t rows = options.rows();
  return {type({1, rows, width}), type({1, rows}), type({1, rows}), type({1})};
}

void detect(const DetectionOptions& options, std::span<const float> encodings,
            std::size_t coordinates, std::span<const float> scores, std::size_t columns,
            std::span<const float> anchors, const Detections& found) {
  for (const std::span<float> result :
       {found.boxes, found.classes, found.scores, found.count}) {
    std::fill(result.begin(), result.end(), 0.0F);
  }
  Detector detector(options, decoded(options, encodings, coordinates, anchors), scores, columns,
                    found);
  if (options.by_class) {
    detector.by_class();
  } else {
    detector.among_all();
  }
}

}  // namespace tare
