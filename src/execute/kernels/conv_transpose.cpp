// ConvTranspose as matrix products and a scatter, the reverse of im2col: every input position
// times all weights gives a patch of results, and patches are added where they overlap. One row
// of input positions is multiplied at a time, so that patches of that many positions are all
// the memory it takes. Multiplications: input positions times weights.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/elements/window.h"
#include "execute/operands.h"

#include <algorithm>
#include <array>

#include <Eigen/Core>

namespace tare {
namespace {

/// One spatial axis; missing ones in front have extent 1.
struct Axis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;  ///< results cut off at the beginning
};

/// Every input position times the weights gives a patch of results; patches are summed up where
/// they overlap.
struct ConvTranspose {
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   ///< channels per group
  std::int64_t results = 0;  ///< channels per group
  std::array<Axis, 3> axes;

  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  std::int64_t patch() const { return taps() * results; }
  std::int64_t weight_count() const { return groups * inputs * patch(); }
  std::int64_t row_count() const { return axes[2].input * patch(); }
};

/// From [channel][result][tap] to [channel][tap][result], the order of a patch.
void pack_weights(const ConvTranspose& conv, const float* weights, float* packed) {
  const std::int64_t taps = conv.taps();
  for (std::int64_t i = 0; i < conv.groups * conv.inputs; ++i) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t c = 0; c < conv.results; ++c) {
        *packed++ = weights[(i * conv.results + c) * taps + tap];
      }
    }
  }
}

/// Where a tap of input position `i` lands, or -1 when that is cut off.
std::int64_t target(const Axis& axis, std::int64_t i, std::int64_t tap) {
  const std::int64_t o = i * axis.stride + tap * axis.dilation - axis.pad;
  return o < axis.output ? std::max<std::int64_t>(o, -1) : -1;
}

/// Adds the patches of one row of input positions (fixed d and h) to the sample's result.
void add_row(const ConvTranspose& conv, std::int64_t d, std::int64_t h, const float* patches,
             float* y) {
  const auto& [depth, height, width] = conv.axes;
  for (std::int64_t w = 0; w < width.input; ++w) {
    for (std::int64_t tap = 0; tap < conv.taps(); ++tap, patches += conv.results) {
      const std::int64_t to_w = target(width, w, tap % width.kernel);
      const std::int64_t to_h = target(height, h, tap / width.kernel % height.kernel);
      const std::int64_t to_d = target(depth, d, tap / (width.kernel * height.kernel));
      if (to_w < 0 || to_h < 0 || to_d < 0) {
        continue;
      }
      const std::int64_t position = (to_d * height.output + to_h) * width.output + to_w;
      float* out = y + position * conv.groups * conv.results;
      for (std::int64_t c = 0; c < conv.results; ++c) {
        out[c] += patches[c];
      }
    }
  }
}

void run(const ConvTranspose& conv, const float* x, const float* weights, const float* bias,
         float* row, float* y) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto& [depth, height, width] = conv.axes;
  const std::int64_t channels = conv.groups * conv.results;
  const std::int64_t positions = depth.output * height.output * width.output;
  Eigen::Map<Matrix> patches(row, width.input, conv.patch());
  for (std::int64_t n = 0; n < conv.batch; ++n) {
    for (std::int64_t i = 0; i < positions * channels; ++i) {
      y[i] = bias != nullptr ? bias[i % channels] : 0;
    }
    for (std::int64_t d = 0; d < depth.input; ++d) {
      for (std::int64_t h = 0; h < height.input; ++h) {
        for (std::int64_t g = 0; g < conv.groups; ++g) {
          const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> source(
              x + g * conv.inputs, width.input, conv.inputs,
              Eigen::OuterStride<>(conv.groups * conv.inputs));
          const Eigen::Map<const Matrix> factors(weights + g * conv.inputs * conv.patch(),
                                                 conv.inputs, conv.patch());
          patches.noalias() = source * factors;
          add_row(conv, d, h, row, y + g * conv.results);
        }
        x += width.input * conv.groups * conv.inputs;
      }
    }
    y += positions * channels;
  }
}

std::array<Axis, 3> make_axes(const KernelRequest& request) {
  const Window window =
      make_transposed_window(request.attributes(), request.inputs[0].shape(),
                             request.outputs[0].shape(), spatial(request.inputs[1].shape()));
  std::array<Axis, 3> axes;
  for (std::size_t i = 0; i < window.axes(); ++i) {
    axes[i + 3 - window.axes()] = {window.output[i],    window.input[i],
                                   window.kernel[i],    window.strides[i],
                                   window.dilations[i], window.pads_begin[i]};
  }
  return axes;
}

ConvTranspose make_geometry(const KernelRequest& request) {
  const Shape& input = request.inputs[0].shape();
  const Shape& weights = required(request, 1).shape();
  const Shape& output = request.outputs[0].shape();
  const std::int64_t groups = request.attributes().integer("group", 1);
  if (weights.size() != input.size() || output.size() != input.size() || groups < 1 ||
      input[1] % groups != 0 || weights[0] != input[1] || output[0] != input[0] ||
      output[1] != weights[1] * groups) {
    throw Error(ErrorCode::kInvalidModel, "",
                "input " + to_string(input) + " does not fit weights " + to_string(weights) +
                    " in " + std::to_string(groups) + " groups");
  }
  if (request.has_input(2)) {
    expect_shape(request.inputs[2], {output[1]});
  }
  return {input[0], groups, input[1] / groups, weights[1], make_axes(request)};
}

class ConvTransposeKernel final : public Kernel {
 public:
  ConvTransposeKernel(const ConvTranspose& conv, const Tensor* weights) : conv_(conv) {
    if (weights != nullptr) {
      packed_.resize(static_cast<std::size_t>(conv.weight_count()));
      pack_weights(conv, weights->view<float>().data(), packed_.data());
    }
  }

  std::size_t scratch_bytes() const override {
    const std::int64_t unpacked = packed_.empty() ? conv_.weight_count() : 0;
    return static_cast<std::size_t>(conv_.row_count() + unpacked) * sizeof(float);
  }
  bool packs(std::size_t operand) const override { return operand == 1 && !packed_.empty(); }
  std::size_t packed_bytes() const override { return packed_.size() * sizeof(float); }

  void run(const Buffers& buffers) const override {
    const auto operand = [&](std::size_t i) {
      return i < buffers.inputs.size() ? input<float>(buffers, i) : nullptr;
    };
    auto* row = reinterpret_cast<float*>(buffers.scratch);
    const float* weights = packed_.data();
    if (packed_.empty()) {
      float* fresh = row + conv_.row_count();
      pack_weights(conv_, operand(1), fresh);
      weights = fresh;
    }
    tare::run(conv_, operand(0), weights, operand(2), row, output<float>(buffers, 0));
  }

 private:
  ConvTranspose conv_;
  std::vector<float> packed_;
};

std::unique_ptr<Kernel> make_conv_transpose(const KernelRequest& request) {
  const std::size_t rank = required(request, 0).shape().size();
  if (!all_f32(request) || rank < 3 || rank > 5) {
    return nullptr;
  }
  return std::make_unique<ConvTransposeKernel>(make_geometry(request),
                                               request.inputs[1].constant);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(conv_transpose) {
  using namespace tare;
  return {.ops = {"ConvTranspose"},
          .layout = [](const KernelRequest&) { return LayoutRule::kChannelsLast; },
          .make = make_conv_transpose};
}
