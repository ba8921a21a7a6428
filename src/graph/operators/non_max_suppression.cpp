// Greedy non-maximum suppression as ONNX defines it. Of each class the candidates are sorted,
// and each is compared with those that were selected: candidates times selected boxes.
#include "graph/operators/non_max_suppression.h"

#include <algorithm>

namespace tare {
namespace {

struct Corners {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;

  float area() const { return (right - left) * (bottom - top); }
};

/// Corners may be any two that face each other.
Corners corners(const float* box, bool is_centered) {
  if (is_centered) {
    return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
  }
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]),
          std::max(box[0], box[2])};
}

bool overlap(const Corners& a, const Corners& b, float most) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0 || a.area() <= 0 || b.area() <= 0) {
    return false;
  }
  const float common = width * height;
  return common / (a.area() + b.area() - common) > most;
}

/// The boxes of one class that are selected.
std::vector<std::int64_t> select(const float* boxes, const float* scores,
                                 const Suppression& how) {
  std::vector<std::int64_t> candidates;
  for (std::int64_t i = 0; i < how.boxes; ++i) {
    if (scores[i] > how.score) {
      candidates.push_back(i);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  std::vector<std::int64_t> selected;
  std::vector<Corners> kept;
  for (const std::int64_t candidate : candidates) {
    if (static_cast<std::int64_t>(selected.size()) >= how.most) {
      break;
    }
    const Corners box = corners(boxes + 4 * candidate, how.is_centered);
    if (std::none_of(kept.begin(), kept.end(), [&](const Corners& better) {
          return overlap(box, better, how.overlap);
        })) {
      selected.push_back(candidate);
      kept.push_back(box);
    }
  }
  return selected;
}

}  // namespace

std::vector<std::array<std::int64_t, 3>> suppress_non_maxima(std::span<const float> boxes,
                                                             std::span<const float> scores,
                                                             const Suppression& how) {
  std::vector<std::array<std::int64_t, 3>> result;
  for (std::int64_t batch = 0; batch < how.batches; ++batch) {
    for (std::int64_t of_class = 0; of_class < how.classes; ++of_class) {
      const std::int64_t row = batch * how.classes + of_class;
      for (const std::int64_t box :
           select(boxes.data() + batch * how.boxes * 4, scores.data() + row * how.boxes, how)) {
        result.push_back({batch, of_class, box});
      }
    }
  }
  return result;
}

}  // namespace tare
