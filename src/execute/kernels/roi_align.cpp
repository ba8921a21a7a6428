// RoiAlign of ONNX: pools regions of an image, read between pixels (He et al., "Mask R-CNN",
// 2017, section 3). A result costs four reads for each point of its bin.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tare {
namespace {

struct RoiAlign {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t regions = 0;
  std::int64_t rows = 0;     ///< of a result
  std::int64_t columns = 0;  ///< of a result
  std::int64_t points = 0;   ///< of a bin along each axis; 0: one for each pixel
  float scale = 1;
  bool half_pixel = true;
  bool takes_maximum = false;
};

/// What one point reads: pixels, and their shares.
struct Point {
  std::array<std::int64_t, 4> at{};
  std::array<float, 4> share{};
};

/// Bins of one region along one axis.
struct Bins {
  float start = 0;
  float size = 0;
  std::int64_t points = 0;

  float coordinate(std::int64_t bin, std::int64_t point) const {
    return start + static_cast<float>(bin) * size +
           (static_cast<float>(point) + 0.5F) * size / static_cast<float>(points);
  }
};

Bins bins_of(const RoiAlign& align, float first, float last, std::int64_t count) {
  const float offset = align.half_pixel ? 0.5F : 0.0F;
  const float start = first * align.scale - offset;
  float length = last * align.scale - offset - start;
  if (!align.half_pixel) {
    length = std::max(length, 1.0F);
  }
  // Denser points than these read the same pixels again.
  constexpr float kMostPoints = 4096;
  const float size = length / static_cast<float>(count);
  if (!(std::fabs(size) <= kMostPoints)) {
    throw Error(ErrorCode::kInvalidData, "", "a region is " + std::to_string(length) + " wide");
  }
  return {start, size,
          align.points > 0 ? align.points : static_cast<std::int64_t>(std::ceil(size))};
}

Point point_at(const RoiAlign& align, float y, float x) {
  const auto height = static_cast<float>(align.height);
  const auto width = static_cast<float>(align.width);
  if (!(y >= -1 && y <= height && x >= -1 && x <= width)) {
    return {};
  }
  const auto low_and_high = [](float& coordinate, std::int64_t extent) {
    coordinate = std::max(coordinate, 0.0F);
    auto low = static_cast<std::int64_t>(coordinate);
    if (low >= extent - 1) {
      low = extent - 1;
      coordinate = static_cast<float>(low);
    }
    return std::pair(low, std::min(low + 1, extent - 1));
  };
  const auto [top, bottom] = low_and_high(y, align.height);
  const auto [left, right] = low_and_high(x, align.width);
  const float down = y - static_cast<float>(top);
  const float across = x - static_cast<float>(left);
  return {{top * align.width + left, top * align.width + right, bottom * align.width + left,
           bottom * align.width + right},
          {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across}};
}

/// The mean of the points, or as ONNX Runtime has it the largest share of a pixel.
float pooled(const RoiAlign& align, const std::vector<Point>& points, const float* image) {
  float sum = 0;
  float largest = points.empty() ? 0 : std::numeric_limits<float>::lowest();
  for (const Point& point : points) {
    for (std::size_t i = 0; i < point.at.size(); ++i) {
      const float part = point.share.at(i) * image[point.at.at(i)];
      sum += part;
      largest = std::max(largest, part);
    }
  }
  return align.takes_maximum
             ? largest
             : sum / static_cast<float>(std::max<std::size_t>(points.size(), 1));
}

void run(const RoiAlign& align, const Buffers& buffers) {
  const auto* images = input<float>(buffers, 0);
  auto* y = output<float>(buffers, 0);
  std::vector<Point> points;
  for (std::int64_t r = 0; r < align.regions; ++r) {
    const float* region = input<float>(buffers, 1) + 4 * r;
    const std::int64_t n = checked_index(input<std::int64_t>(buffers, 2)[r], align.images);
    const Bins across = bins_of(align, region[0], region[2], align.columns);
    const Bins down = bins_of(align, region[1], region[3], align.rows);
    for (std::int64_t bin = 0; bin < align.rows * align.columns; ++bin) {
      points.clear();
      for (std::int64_t i = 0; i < down.points; ++i) {
        for (std::int64_t k = 0; k < across.points; ++k) {
          points.push_back(point_at(align, down.coordinate(bin / align.columns, i),
                                    across.coordinate(bin % align.columns, k)));
        }
      }
      for (std::int64_t c = 0; c < align.channels; ++c) {
        const float* image = images + (n * align.channels + c) * align.height * align.width;
        y[((r * align.channels + c) * align.rows * align.columns) + bin] =
            pooled(align, points, image);
      }
    }
  }
}

std::unique_ptr<Kernel> make_roi_align(const KernelRequest& request) {
  const Shape& x = required(request, 0).shape();
  const Operand& regions = required(request, 1);
  const Operand& images = required(request, 2);
  const Operand& y = request.outputs[0];
  const Attributes& attributes = request.attributes();
  if (x.size() != 4 || y.shape().size() != 4 || !uniform(request, 2) ||
      y.dtype() != DType::kFloat32 || images.dtype() != DType::kInt64) {
    return nullptr;
  }
  if (x[2] < 1 || x[3] < 1) {
    throw Error(ErrorCode::kInvalidModel, "", "the image is " + to_string(x));
  }
  const RoiAlign align{.images = x[0],
                       .channels = x[1],
                       .height = x[2],
                       .width = x[3],
                       .regions = y.shape()[0],
                       .rows = attributes.integer("output_height", 1),
                       .columns = attributes.integer("output_width", 1),
                       .points = attributes.integer("sampling_ratio", 0),
                       .scale = attributes.real("spatial_scale", 1),
                       .half_pixel = attributes.text("coordinate_transformation_mode",
                                                     "half_pixel") == "half_pixel",
                       .takes_maximum = attributes.text("mode", "avg") == "max"};
  expect_shape(regions, {align.regions, 4});
  expect_shape(images, {align.regions});
  expect_shape(y, {align.regions, x[1], align.rows, align.columns});
  return make_kernel([align](const Buffers& buffers) { run(align, buffers); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(roi_align) {
  return {.ops = {"RoiAlign"}, .make = tare::make_roi_align};
}
