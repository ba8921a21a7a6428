// DeformConv of ONNX: a convolution whose taps lie where another operand moves them (Dai et
// al., "Deformable convolutional networks", 2017), each weighed by a mask (Zhu et al.,
// "Deformable ConvNets v2", 2019). Images become columns, four reads for each element, and one
// product does the rest.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "execute/products/matrix_product.h"

#include <array>
#include <cmath>
#include <vector>

namespace tare {
namespace {

struct DeformConv {
  Shape x;
  Shape y;
  std::int64_t groups = 1;
  std::int64_t offset_groups = 1;
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 2> dilations{1, 1};
  std::array<std::int64_t, 2> pads{0, 0};
  bool has_bias = false;
  bool has_mask = false;

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  std::int64_t points() const { return y[2] * y[3]; }
};

/// Between four pixels of one channel; outside of the image there are zeros.
float between(const float* image, std::int64_t height, std::int64_t width, float y, float x) {
  if (!(y > -1 && x > -1 && y < static_cast<float>(height) && x < static_cast<float>(width))) {
    return 0;
  }
  const float top = std::floor(y);
  const float left = std::floor(x);
  const auto row = static_cast<std::int64_t>(top);
  const auto column = static_cast<std::int64_t>(left);
  const float down = y - top;
  const float across = x - left;
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return r >= 0 && c >= 0 && r < height && c < width ? image[r * width + c] : 0.0F;
  };
  return (1 - down) * ((1 - across) * at(row, column) + across * at(row, column + 1)) +
         down * ((1 - across) * at(row + 1, column) + across * at(row + 1, column + 1));
}

/// What a tap of all results reads of one channel.
void fill_row(const DeformConv& conv, const float* image, const float* offsets,
              const float* mask, std::int64_t tap, float* row) {
  const std::int64_t points = conv.points();
  const float* down = offsets + 2 * tap * points;
  const float* across = down + points;
  for (std::int64_t point = 0; point < points; ++point) {
    const std::int64_t y = point / conv.y[3] * conv.strides[0] - conv.pads[0] +
                           tap / conv.kernel[1] * conv.dilations[0];
    const std::int64_t x = point % conv.y[3] * conv.strides[1] - conv.pads[1] +
                           tap % conv.kernel[1] * conv.dilations[1];
    const float value =
        between(image, conv.x[2], conv.x[3], static_cast<float>(y) + down[point],
                static_cast<float>(x) + across[point]);
    row[point] = mask != nullptr ? value * mask[tap * points + point] : value;
  }
}

void run(const DeformConv& conv, const Buffers& buffers) {
  constexpr std::size_t kOffsets = 2;
  constexpr std::size_t kBias = 3;
  constexpr std::size_t kMask = 4;
  const std::int64_t points = conv.points();
  const std::int64_t depth = conv.x[1] / conv.groups * conv.taps();
  const std::int64_t results = conv.y[1] / conv.groups;
  const std::int64_t sharing = conv.x[1] / conv.offset_groups;  // channels of one offset group
  std::vector<float> columns(static_cast<std::size_t>(conv.x[1] * conv.taps() * points));
  for (std::int64_t n = 0; n < conv.x[0]; ++n) {
    for (std::int64_t c = 0; c < conv.x[1]; ++c) {
      const std::int64_t moved = (n * conv.offset_groups + c / sharing) * conv.taps() * points;
      const float* image =
          input<float>(buffers, 0) + (n * conv.x[1] + c) * conv.x[2] * conv.x[3];
      const float* offsets = input<float>(buffers, kOffsets) + 2 * moved;
      const float* mask = conv.has_mask ? input<float>(buffers, kMask) + moved : nullptr;
      for (std::int64_t tap = 0; tap < conv.taps(); ++tap) {
        fill_row(conv, image, offsets, mask, tap,
                 columns.data() + (c * conv.taps() + tap) * points);
      }
    }
    float* y = output<float>(buffers, 0) + n * conv.y[1] * points;
    for (std::int64_t group = 0; group < conv.groups; ++group) {
      multiply(input<float>(buffers, 1) + group * results * depth,
               columns.data() + group * depth * points, y + group * results * points,
               {results, depth, points});
    }
    for (std::int64_t c = 0; conv.has_bias && c < conv.y[1]; ++c) {
      for (std::int64_t point = 0; point < points; ++point) {
        y[c * points + point] += input<float>(buffers, kBias)[c];
      }
    }
  }
}

std::array<std::int64_t, 2> pair_of(const Attributes& attributes, std::string_view name,
                                    std::int64_t fallback) {
  const auto given = attributes.integers(name, {fallback, fallback});
  if (given.size() < 2) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute '" + std::string(name) + "' is " + to_string(given));
  }
  return {given[0], given[1]};
}

std::unique_ptr<Kernel> make_deform_conv(const KernelRequest& request) {
  const Shape& x = required(request, 0).shape();
  const Shape& w = required(request, 1).shape();
  const Operand& offsets = required(request, 2);
  const Operand& y = request.outputs[0];
  if (!all_f32(request) || x.size() != 4 || w.size() != 4 || y.shape().size() != 4) {
    return nullptr;
  }
  const auto is_there = [&](std::size_t i) {
    return i < request.inputs.size() && request.inputs[i];
  };
  const Attributes& attributes = request.attributes();
  const DeformConv conv{.x = x,
                        .y = y.shape(),
                        .groups = attributes.integer("group", 1),
                        .offset_groups = attributes.integer("offset_group", 1),
                        .kernel = {w[2], w[3]},
                        .strides = pair_of(attributes, "strides", 1),
                        .dilations = pair_of(attributes, "dilations", 1),
                        .pads = pair_of(attributes, "pads", 0),
                        .has_bias = is_there(3),
                        .has_mask = is_there(4)};
  if (conv.groups < 1 || conv.offset_groups < 1 || x[1] % conv.groups != 0 ||
      x[1] % conv.offset_groups != 0 || w[0] % conv.groups != 0 || w[1] != x[1] / conv.groups) {
    throw Error(ErrorCode::kInvalidModel, "",
                "weights of shape " + to_string(w) + " in " + std::to_string(conv.groups) +
                    " groups, and " + std::to_string(conv.offset_groups) +
                    " groups of offsets, for an image of shape " + to_string(x));
  }
  expect_shape(y, {x[0], w[0], y.shape()[2], y.shape()[3]});
  expect_shape(offsets, {x[0], 2 * conv.offset_groups * conv.taps(), conv.y[2], conv.y[3]});
  if (conv.has_bias) {
    expect_shape(request.inputs[3], {w[0]});
  }
  if (conv.has_mask) {
    expect_shape(request.inputs[4],
                 {x[0], conv.offset_groups * conv.taps(), conv.y[2], conv.y[3]});
  }
  return make_kernel([conv](const Buffers& buffers) { run(conv, buffers); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(deform_conv) {
  return {.ops = {"DeformConv"}, .make = tare::make_deform_conv};
}
