#include "graph/operators/detection_post_process.h"

#include "tare/error.h"

#include "support/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Three boxes, the second overlaps the first.
const std::vector<float> kEncodings{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
const std::vector<float> kScores{0.3F, 0.9F, 0.8F, 0.1F, 0.6F, 0.5F};
const std::vector<float> kAnchors{0.5, 0.5, 1, 1, 0.5, 0.5, 1, 1, 2.5, 2.5, 1, 1};

DetectionOptions options() {
  return {.classes = 2,
          .max_detections = 3,
          .max_classes_per_detection = 1,
          .detections_per_class = 2,
          .by_class = false,
          .score_threshold = 0.2F,
          .overlap_threshold = 0.5F,
          .y_scale = 10,
          .x_scale = 10,
          .height_scale = 5,
          .width_scale = 5};
}

struct Found {
  std::vector<float> boxes;
  std::vector<float> classes;
  std::vector<float> scores;
  std::vector<float> count;
};

Found detected(const DetectionOptions& how, const std::vector<float>& encodings = kEncodings,
               const std::vector<float>& scores = kScores,
               const std::vector<float>& anchors = kAnchors) {
  const auto rows = static_cast<std::size_t>(how.rows());
  Found found{std::vector<float>(rows * 4, -1), std::vector<float>(rows, -1),
              std::vector<float>(rows, -1), std::vector<float>(1, -1)};
  detect(how, encodings, 4, scores, scores.size() / (anchors.size() / 4), anchors,
         {found.boxes, found.classes, found.scores, found.count});
  return found;
}

TEST(DetectionPostProcess, FillsRowsOfBoxesThatAreNotThereWithZeros) {
  const Found found = detected(options());
  EXPECT_EQ(found.boxes, (std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 0, 0}));
  EXPECT_EQ(found.classes, (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(found.scores, (std::vector<float>{0.9F, 0.6F, 0}));
  EXPECT_EQ(found.count, std::vector<float>{2});
}

TEST(DetectionPostProcess, GivesEachBoxARowForEachOfItsBestClasses) {
  DetectionOptions how = options();
  how.max_classes_per_detection = 2;
  const Found found = detected(how);
  EXPECT_EQ(found.classes, (std::vector<float>{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(found.scores, (std::vector<float>{0.9F, 0.3F, 0.6F, 0.5F, 0, 0}));
  EXPECT_EQ(found.count, std::vector<float>{2});
  // There are no more than two classes, so every third row is empty.
  how.max_classes_per_detection = 3;
  EXPECT_EQ(detected(how).scores, (std::vector<float>{0.9F, 0.3F, 0, 0.6F, 0.5F, 0, 0, 0, 0}));
}

TEST(DetectionPostProcess, SuppressesByClassWhereItIsToldTo) {
  DetectionOptions how = options();
  how.by_class = true;
  const Found found = detected(how);
  EXPECT_EQ(found.classes, (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(found.scores, (std::vector<float>{0.9F, 0.8F, 0.6F}));  // 0.5 is one too many
  EXPECT_EQ(found.count, std::vector<float>{3});
  how.detections_per_class = 1;
  EXPECT_EQ(detected(how).scores, (std::vector<float>{0.9F, 0.8F, 0}));
}

TEST(DetectionPostProcess, TakesScoresAtTheThreshold) {
  DetectionOptions how = options();
  how.score_threshold = 0.6F;
  EXPECT_EQ(detected(how).count, std::vector<float>{2});
  how.score_threshold = std::nextafter(0.6F, 1.0F);
  EXPECT_EQ(detected(how).count, std::vector<float>{1});
}

TEST(DetectionPostProcess, KeepsNoTwoBoxesThatOverlapAndNothingWorseInTheirPlace) {
  Random random(7);
  DetectionOptions how = options();
  how.max_detections = 20;
  for (int round = 0; round < 20; ++round) {
    std::vector<float> encodings;
    std::vector<float> scores;
    std::vector<float> anchors;
    for (int i = 0; i < 40; ++i) {
      for (int k = 0; k < 4; ++k) {
        encodings.push_back(static_cast<float>(random.integer(-10, 10)) / 4);
      }
      for (int k = 0; k < 2; ++k) {
        scores.push_back(static_cast<float>(random.integer(0, 1000)) / 1000);
      }
      anchors.insert(anchors.end(), {static_cast<float>(random.integer(0, 8)) / 8,
                                     static_cast<float>(random.integer(0, 8)) / 8, 0.5F, 0.5F});
    }
    const Found found = detected(how, encodings, scores, anchors);
    const auto count = static_cast<std::size_t>(found.count[0]);
    EXPECT_GT(count, 2U);
    EXPECT_TRUE(std::is_sorted(found.scores.begin(), found.scores.end(), std::greater<>()));
    const auto shared = [&](std::size_t a, std::size_t b) {
      const float* p = found.boxes.data() + 4 * a;
      const float* q = found.boxes.data() + 4 * b;
      const double height = std::min(p[2], q[2]) - std::max(p[0], q[0]);
      const double width = std::min(p[3], q[3]) - std::max(p[1], q[1]);
      const double common = std::max(height, 0.0) * std::max(width, 0.0);
      const auto area = [](const float* box) {
        return static_cast<double>(box[2] - box[0]) * (box[3] - box[1]);
      };
      return common / (area(p) + area(q) - common);
    };
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_LE(shared(a, b), 0.5 + 1e-6);  // roundings of areas in float
      }
    }
    // The best score of all is always kept.
    EXPECT_EQ(found.scores[0], *std::max_element(scores.begin(), scores.end()));
  }
}

TEST(DetectionPostProcess, RefusesAttributesAndShapesThatMakeNoSense) {
  const auto refuses = [](auto change) {
    DetectionOptions how = options();
    change(how);
    EXPECT_THROW(detection_options(to_attributes(how)), Error);
  };
  refuses([](DetectionOptions& how) { how.max_detections = 0; });
  refuses([](DetectionOptions& how) { how.max_detections = std::int64_t{1} << 40; });
  refuses([](DetectionOptions& how) { how.classes = -1; });
  refuses([](DetectionOptions& how) { how.detections_per_class = 0; });
  refuses([](DetectionOptions& how) { how.overlap_threshold = 0; });
  refuses([](DetectionOptions& how) { how.overlap_threshold = std::nanf(""); });
  refuses([](DetectionOptions& how) { how.y_scale = 0; });
  EXPECT_EQ(detection_types(options(), {1, 3, 4}, {1, 3, 2}, {3, 4})[0].shape,
            (Shape{1, 3, 4}));
  EXPECT_THROW(detection_types(options(), {2, 3, 4}, {2, 3, 2}, {3, 4}), Error);
  EXPECT_THROW(detection_types(options(), {1, 3, 4}, {1, 3, 1}, {3, 4}), Error);
  EXPECT_THROW(detection_types(options(), {1, 3, 4}, {1, 3, 2}, {4, 4}), Error);
}

}  // namespace
}  // namespace tare::test
