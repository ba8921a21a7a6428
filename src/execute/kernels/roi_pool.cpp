// MaxRoiPool of ONNX: the maxima of a grid of bins over each region (Girshick, "Fast R-CNN",
// 2015). Bins of one region may share pixels at their edges; those without any are 0.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

struct RoiPool {
  Shape x;
  Shape y;
  float scale = 1;
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Pixels of one bin along an axis, for a region from `first` to `last`.
Range bin_of(float first, float last, std::int64_t bin, std::int64_t bins,
             std::int64_t extent) {
  const float length = std::max(last - first + 1, 1.0F);
  const float size = length / static_cast<float>(bins);
  const auto inside = [&](float place) {
    return static_cast<std::int64_t>(std::clamp(place, 0.0F, static_cast<float>(extent)));
  };
  return {inside(std::floor(static_cast<float>(bin) * size) + first),
          inside(std::ceil(static_cast<float>(bin + 1) * size) + first)};
}

float maximum(const float* image, std::int64_t width, const Range& rows, const Range& columns) {
  if (rows.end <= rows.begin || columns.end <= columns.begin) {
    return 0;
  }
  float most = -std::numeric_limits<float>::infinity();
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const float* line = image + row * width;
    most = std::max(most, *std::max_element(line + columns.begin, line + columns.end));
  }
  return most;
}

void run(const RoiPool& pool, const Buffers& buffers) {
  const auto* images = input<float>(buffers, 0);
  auto* y = output<float>(buffers, 0);
  const std::int64_t height = pool.x[2];
  const std::int64_t width = pool.x[3];
  for (std::int64_t r = 0; r < pool.y[0]; ++r) {
    const float* region = input<float>(buffers, 1) + 5 * r;
    const std::int64_t n = checked_index(static_cast<std::int64_t>(region[0]), pool.x[0]);
    const auto edge = [&](std::size_t i) { return std::round(region[i] * pool.scale); };
    for (std::int64_t c = 0; c < pool.x[1]; ++c) {
      const float* image = images + (n * pool.x[1] + c) * height * width;
      for (std::int64_t i = 0; i < pool.y[2]; ++i) {
        const Range rows = bin_of(edge(2), edge(4), i, pool.y[2], height);
        for (std::int64_t j = 0; j < pool.y[3]; ++j) {
          *y++ = maximum(image, width, rows, bin_of(edge(1), edge(3), j, pool.y[3], width));
        }
      }
    }
  }
}

std::unique_ptr<Kernel> make_roi_pool(const KernelRequest& request) {
  const Shape& x = required(request, 0).shape();
  const Operand& regions = required(request, 1);
  const Operand& y = request.outputs[0];
  const auto bins = request.attributes().integers("pooled_shape");
  if (!all_f32(request) || x.size() != 4 || bins.size() != 2) {
    return nullptr;
  }
  const RoiPool pool{
      .x = x, .y = y.shape(), .scale = request.attributes().real("spatial_scale", 1)};
  const std::int64_t count = regions.shape().empty() ? 0 : regions.shape()[0];
  expect_shape(regions, {count, 5});
  expect_shape(y, {count, x[1], bins[0], bins[1]});
  return make_kernel([pool](const Buffers& buffers) { run(pool, buffers); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(roi_pool) {
  return {.ops = {"MaxRoiPool"}, .make = tare::make_roi_pool};
}
