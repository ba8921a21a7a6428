#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tare {

/// What NonMaxSuppression of ONNX goes by.
struct Suppression {
  std::int64_t batches = 0;
  std::int64_t classes = 0;
  std::int64_t boxes = 0;
  std::int64_t most = 0;  ///< that are selected of each class of each batch
  float overlap = 0;      ///< intersection over union above which the worse box goes
  float score = -std::numeric_limits<float>::infinity();  ///< what a score must be above
  bool is_centered = false;  ///< boxes are [x, y, width, height], not two corners [y, x, y, x]
};

/// (batch, class, box) of each box that is selected: best first in each class, classes and
/// batches in their order. Of equal scores the first box is the better one.
/// `boxes` is [batches, boxes, 4], `scores` [batches, classes, boxes].
std::vector<std::array<std::int64_t, 3>> suppress_non_maxima(std::span<const float> boxes,
                                                             std::span<const float> scores,
                                                             const Suppression&);

}  // namespace tare
