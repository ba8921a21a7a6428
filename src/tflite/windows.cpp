// Pools, changes of resolution, and what they share with convolutions: windows.
#include "tflite/operators.h"
#include "tflite/window_shape.h"

#include <algorithm>

namespace tare::tflite {
namespace {

/// Resize of height and width, spelled in ONNX.
void resize(OperatorImport& op, const char* mode, const char* coordinates,
            const char* nearest_mode) {
  op.require_rank(0, kImageRank);
  const std::vector<std::int64_t> size = op.integers(1);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    op.refuse("makes a size of " + to_string(size), "height and width");
  }
  const Shape& x = op.shape(0);
  const Shape shape{x[0], x[3], size[0], size[1]};
  Attributes attributes{{"mode", std::string(mode)},
                        {"coordinate_transformation_mode", std::string(coordinates)}};
  if (nearest_mode != nullptr) {
    attributes.set("nearest_mode", std::string(nearest_mode));
  }
  op.define(Order::kChannelsFirst,
            op.add("Resize", {op.value(0, Order::kChannelsFirst), {}, {}, op.indices(shape)},
                   shape, attributes));
}

void require_blocks(const OperatorImport& op, std::int64_t size) {
  op.require_rank(0, kImageRank);
  if (size < 1) {
    op.refuse("has blocks of " + std::to_string(size));
  }
}

}  // namespace

WindowShape window_shape(const OperatorImport& op, const std::vector<std::int64_t>& input,
                         WindowShape window, schema::Padding padding) {
  window.pads.assign(2 * input.size(), 0);
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::int64_t stride = window.strides[i];
    if (window.kernel[i] < 1 || stride < 1 || window.dilations[i] < 1) {
      op.refuse("has a window of " + to_string(window.kernel) + ", strides " +
                    to_string(window.strides) + ", dilations " + to_string(window.dilations),
                "1 or more of each");
    }
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const bool same = padding == schema::Padding_SAME;
    const std::int64_t output =
        same ? (input[i] + stride - 1) / stride : (input[i] - reach + stride) / stride;
    if (input[i] < 1 || output < 1) {
      op.refuse("its window reaches over " + std::to_string(reach) + " of " +
                std::to_string(input[i]));
    }
    const std::int64_t pad =
        same ? std::max<std::int64_t>(0, (output - 1) * stride + reach - input[i]) : 0;
    window.pads[i] = pad / 2;
    window.pads[i + input.size()] = pad - pad / 2;
    window.output.push_back(output);
  }
  return window;
}

void pool(OperatorImport& op, std::string_view onnx) {
  const auto& options = op.options<schema::Pool2DOptions>();
  op.require_rank(0, kImageRank);
  const Shape& x = op.shape(0);
  const WindowShape window =
      window_shape(op, {x[1], x[2]},
                   {.kernel = {options.filter_height(), options.filter_width()},
                    .strides = {options.stride_h(), options.stride_w()},
                    .dilations = {1, 1},
                    .pads = {},
                    .output = {}},
                   options.padding());
  const ValueId y = op.add(
      std::string(onnx), {op.value(0, Order::kChannelsFirst)},
      Shape{x[0], x[3], window.output[0], window.output[1]},
      {{"kernel_shape", window.kernel}, {"strides", window.strides}, {"pads", window.pads}});
  op.define(Order::kChannelsFirst, op.activated(y, options.activation()));
}

void resize_bilinear(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::ResizeBilinearOptions>();
  resize(op, "linear",
         options.align_corners()        ? "align_corners"
         : options.half_pixel_centers() ? "half_pixel"
                                        : "asymmetric",
         nullptr);
}

/// Of half pixels it takes floor((i + 0.5) * scale), which is what ONNX calls rounding halves
/// up.
void resize_nearest(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::ResizeNearestNeighborOptions>();
  if (options.align_corners()) {
    resize(op, "nearest", "align_corners", "round_prefer_ceil");
  } else if (options.half_pixel_centers()) {
    resize(op, "nearest", "half_pixel", "round_prefer_ceil");
  } else {
    resize(op, "nearest", "asymmetric", "floor");
  }
}

void space_to_depth(OperatorImport& op, std::string_view) {
  const std::int64_t size = op.options<schema::SpaceToDepthOptions>().block_size();
  require_blocks(op, size);
  const Shape& x = op.shape(0);
  if (x[1] % size != 0 || x[2] % size != 0) {
    op.refuse("has blocks of " + std::to_string(size) + " in " + to_string(x));
  }
  op.define(
      Order::kChannelsFirst,
      op.add("SpaceToDepth", {op.value(0, Order::kChannelsFirst)},
             Shape{x[0], x[3] * size * size, x[1] / size, x[2] / size}, {{"blocksize", size}}));
}

void depth_to_space(OperatorImport& op, std::string_view) {
  const std::int64_t size = op.options<schema::DepthToSpaceOptions>().block_size();
  require_blocks(op, size);
  const Shape& x = op.shape(0);
  if (x[3] % (size * size) != 0) {
    op.refuse("has blocks of " + std::to_string(size) + " in " + to_string(x));
  }
  op.define(Order::kChannelsFirst,
            op.add("DepthToSpace", {op.value(0, Order::kChannelsFirst)},
                   Shape{x[0], x[3] / (size * size), x[1] * size, x[2] * size},
                   {{"blocksize", size}, {"mode", std::string("DCR")}}));
}

}  // namespace tare::tflite
