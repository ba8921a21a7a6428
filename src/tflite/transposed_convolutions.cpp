// The transposes of convolutions. Weights are O H W I in the file and I O H W in the graph.
#include "tflite/bias.h"
#include "tflite/operators.h"
#include "tflite/window_shape.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tare::tflite {
namespace {

/// Operands of a transposed convolution, by place, and what it is to do with them.
struct TransposedConvolution {
  std::size_t x = 0;
  std::size_t weights = 0;
  std::size_t bias = 0;
  Shape shape;  ///< of the result, N H W C
  std::vector<std::int64_t> strides;
  schema::Padding padding = schema::Padding_SAME;
  schema::Activation activation = schema::Activation_NONE;
};

/// The padding is that of the convolution which this is the transpose of, so by its results.
void convolve_transposed(OperatorImport& op, const TransposedConvolution& how) {
  op.require_rank(how.weights, kImageRank);
  op.require_rank(how.x, kImageRank);
  const Shape& shape = how.shape;
  const ValueId w = op.constant(how.weights, {3, 0, 1, 2});
  const Shape weights = op.shape_of(w);
  const Shape& input = op.shape(how.x);
  if (shape.size() != kImageRank || weights[0] != input[3]) {
    op.refuse("has weights of shape " + to_string(op.shape(how.weights)) +
              " and results of shape " + to_string(shape) + " for operand " + to_string(input));
  }
  const WindowShape window = window_shape(op, {shape[1], shape[2]},
                                          {.kernel = {weights[2], weights[3]},
                                           .strides = how.strides,
                                           .dilations = {1, 1},
                                           .pads = {},
                                           .output = {}},
                                          how.padding);
  std::vector<std::int64_t> pads = window.pads;
  std::vector<std::int64_t> extra(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (window.output[i] != input[i + 1]) {
      op.refuse("makes shape " + to_string(shape) + " of " + to_string(input));
    }
    const std::int64_t reached = (input[i + 1] - 1) * window.strides[i] + window.kernel[i];
    pads[i + 2] = std::max<std::int64_t>(0, reached - pads[i] - shape[i + 1]);
    extra[i] = std::max<std::int64_t>(0, shape[i + 1] + pads[i] - reached);
  }
  const ValueId b = bias(op, how.bias, op.input(how.x), op.input(how.weights));
  require_bias_of(op, b, weights[1]);
  const ValueId y = op.add("ConvTranspose",
                           operands_of_sums(op, op.value(how.x, Order::kChannelsFirst), w, b),
                           Shape{input[0], weights[1], shape[1], shape[2]},
                           {{"kernel_shape", window.kernel},
                            {"strides", window.strides},
                            {"pads", pads},
                            {"output_padding", extra}});
  op.define(Order::kChannelsFirst, op.activated(y, how.activation));
}

}  // namespace

void transposed_convolution(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::TransposeConvOptions>();
  convolve_transposed(op, {.x = 2,
                           .weights = 1,
                           .bias = 3,
                           .shape = op.integers(0),
                           .strides = {options.stride_h(), options.stride_w()},
                           .padding = options.padding(),
                           .activation = options.activation()});
}

/// An operator of MediaPipe, whose options are three numbers of 32 bits: 1 for SAME or 2 for
/// VALID, and the strides along rows and columns.
void biased_transposed_convolution(OperatorImport& op, std::string_view) {
  std::array<std::int32_t, 3> options{};
  const auto bytes = op.custom_options();
  if (bytes.size() < sizeof options) {
    op.refuse("has " + std::to_string(bytes.size()) + " bytes of options", "12");
  }
  std::memcpy(options.data(), bytes.data(), sizeof options);
  const auto [padding, stride_w, stride_h] = options;
  if (padding != 1 && padding != 2) {
    op.refuse("has padding " + std::to_string(padding), "1 or 2");
  }
  convolve_transposed(op,
                      {.x = 0,
                       .weights = 1,
                       .bias = 2,
                       .shape = op.output().type.shape,
                       .strides = {stride_h, stride_w},
                       .padding = padding == 1 ? schema::Padding_SAME : schema::Padding_VALID,
                       .activation = schema::Activation_NONE});
}

}  // namespace tare::tflite
