// Sums of products. Weights are O H W I in the file (depthwise ones 1 H W O) and O I H W in the
// graph; the axis of their scales moves with them.
#include "tflite/operators.h"
#include "tflite/window_shape.h"

#include <algorithm>
#include <cmath>

namespace tare::tflite {
namespace {

constexpr std::size_t kImageRank = 4;

using Axes = std::vector<std::int64_t>;

/// The bias of a sum. One in int32 is in steps of the product of the operands' scales, and
/// that is the scale it gets here: what files say of it is the same number, rounded elsewhere.
ValueId bias(OperatorImport& op, std::size_t i, const FileTensor& x, const FileTensor& w) {
  if (!op.has_input(i)) {
    return {};
  }
  const FileTensor& b = op.input(i);
  if (!is_integer(b.type.dtype)) {
    return op.value(i, Order::kFile);
  }
  if (!b.constant || b.type.shape.size() != 1 || !x.type.quant || !w.type.quant) {
    op.refuse("its bias holds integers", "a constant row, and operands with scales");
  }
  QuantParams params = *w.type.quant;
  params.storage = DType::kInt32;
  params.axis = params.axis ? std::optional(0) : std::nullopt;
  std::fill(params.zero_point.begin(), params.zero_point.end(), 0);
  for (float& scale : params.scale) {
    scale *= x.type.quant->scale[0];
  }
  const auto count = static_cast<std::size_t>(b.constant->size());
  if (params.scale.size() != 1 && params.scale.size() != count) {
    op.refuse("its bias has " + std::to_string(count) + " elements",
              std::to_string(params.scale.size()) + ", as there are scales");
  }
  const auto is_scale = [](float scale) { return scale > 0 && std::isfinite(scale); };
  const bool is_stored = b.type.dtype == DType::kInt32 &&
                         std::all_of(params.scale.begin(), params.scale.end(), is_scale);
  GraphImport& graph = op.graph();
  if (is_stored) {
    return graph.dequantized(graph.add_constant(b.name, *b.constant), params, b.name);
  }
  std::vector<float> real(count);
  const auto integers = b.constant->to_double();
  for (std::size_t c = 0; c < count; ++c) {
    const double scale = params.scale[params.scale.size() == 1 ? 0 : c];
    real[c] = static_cast<float>(integers[c] * scale);
  }
  return graph.add_constant(b.name, Tensor::of<float>(b.type.shape, real));
}

void require_bias_of(OperatorImport& op, ValueId bias, std::int64_t channels) {
  if (bias && op.shape_of(bias) != Shape{channels}) {
    op.refuse("its bias has shape " + to_string(op.shape_of(bias)), to_string(Shape{channels}));
  }
}

std::vector<ValueId> operands(const OperatorImport& op, ValueId x, ValueId w, ValueId b) {
  const std::vector<ValueId> all = b ? std::vector{x, w, b} : std::vector{x, w};
  op.require_alike(all);
  return all;
}

template <class Options>
WindowShape sliding_window(const OperatorImport& op, const Options& options,
                           const Shape& kernel) {
  return window_shape(op, {op.shape(0)[1], op.shape(0)[2]},
                      {.kernel = kernel,
                       .strides = {options.stride_h(), options.stride_w()},
                       .dilations = {options.dilation_h(), options.dilation_w()},
                       .pads = {},
                       .output = {}},
                      options.padding());
}

template <class Options>
void convolve(OperatorImport& op, const Options& options, const Axes& to_oihw) {
  op.require_rank(0, kImageRank);
  op.require_rank(1, kImageRank);
  const ValueId w = op.constant(1, to_oihw);
  const Shape weights = op.shape_of(w);
  const std::int64_t channels = op.shape(0)[3];
  if (weights[0] < 1 || weights[1] < 1 || channels < 1 || channels % weights[1] != 0 ||
      weights[0] % (channels / weights[1]) != 0) {
    op.refuse("has weights of shape " + to_string(op.shape(1)) + " for operand " +
              to_string(op.shape(0)));
  }
  const WindowShape window = sliding_window(op, options, {weights[2], weights[3]});
  const ValueId b = bias(op, 2, op.input(0), op.input(1));
  require_bias_of(op, b, weights[0]);
  const ValueId y =
      op.add("Conv", operands(op, op.value(0, Order::kChannelsFirst), w, b),
             Shape{op.shape(0)[0], weights[0], window.output[0], window.output[1]},
             {{"kernel_shape", window.kernel},
              {"strides", window.strides},
              {"dilations", window.dilations},
              {"pads", window.pads},
              {"group", channels / weights[1]}});
  op.define(Order::kChannelsFirst, op.activated(y, options.activation()));
}

}  // namespace

void convolution(OperatorImport& op, std::string_view) {
  convolve(op, op.options<schema::Conv2DOptions>(), {0, 3, 1, 2});
}

void depthwise_convolution(OperatorImport& op, std::string_view) {
  op.require_rank(0, kImageRank);
  op.require_rank(1, kImageRank);
  if (op.shape(1)[0] != 1) {
    op.refuse("has weights of shape " + to_string(op.shape(1)), "1 as their first extent");
  }
  convolve(op, op.options<schema::DepthwiseConv2DOptions>(), {3, 0, 1, 2});
}

/// The padding is that of the convolution which this is the transpose of, so by its results.
void transposed_convolution(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::TransposeConvOptions>();
  op.require_rank(1, kImageRank);
  op.require_rank(2, kImageRank);
  const std::vector<std::int64_t> shape = op.integers(0);
  const ValueId w = op.constant(1, {3, 0, 1, 2});
  const Shape weights = op.shape_of(w);
  const Shape& input = op.shape(2);
  if (shape.size() != kImageRank || weights[0] != input[3]) {
    op.refuse("has weights of shape " + to_string(op.shape(1)) + " and results of shape " +
              to_string(shape) + " for operand " + to_string(input));
  }
  const WindowShape window = window_shape(op, {shape[1], shape[2]},
                                          {.kernel = {weights[2], weights[3]},
                                           .strides = {options.stride_h(), options.stride_w()},
                                           .dilations = {1, 1},
                                           .pads = {},
                                           .output = {}},
                                          options.padding());
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
  const ValueId b = bias(op, 3, op.input(2), op.input(1));
  require_bias_of(op, b, weights[1]);
  const ValueId y =
      op.add("ConvTranspose", operands(op, op.value(2, Order::kChannelsFirst), w, b),
             Shape{input[0], weights[1], shape[1], shape[2]},
             {{"kernel_shape", window.kernel},
              {"strides", window.strides},
              {"pads", pads},
              {"output_padding", extra}});
  op.define(Order::kChannelsFirst, op.activated(y, options.activation()));
}

void fully_connected(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::FullyConnectedOptions>();
  if (options.weights_format() != schema::WeightsFormat_DEFAULT) {
    op.unsupported("has shuffled weights");
  }
  op.require_rank(1, 2);
  const Shape weights = op.shape(1);
  if (weights[1] < 1 || element_count(op.shape(0)) % weights[1] != 0) {
    op.refuse("has weights of shape " + to_string(weights) + " for operand " +
              to_string(op.shape(0)));
  }
  const std::int64_t rows = element_count(op.shape(0)) / weights[1];
  const ValueId x = op.reshaped(op.value(0, Order::kFile), {rows, weights[1]});
  const ValueId b = bias(op, 2, op.input(0), op.input(1));
  require_bias_of(op, b, weights[0]);
  const ValueId y = op.add("Gemm", operands(op, x, op.value(1, Order::kFile), b),
                           Shape{rows, weights[0]}, {{"transB", std::int64_t{1}}});
  const Shape& wanted = op.output().type.shape;
  op.define(Order::kFile, op.reshaped(op.activated(y, options.activation()), wanted));
}

void batch_matmul(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::BatchMatMulOptions>();
  std::vector<ValueId> factors;
  for (const std::size_t i : {0U, 1U}) {
    const Shape& shape = op.shape(i);
    if (shape.size() < 2 || shape.size() != op.rank(0)) {
      op.unsupported(
          "has operands of shapes " + to_string(op.shape(0)) + " and " + to_string(op.shape(1)),
          "matrices in equally many axes");
    }
    ValueId factor = op.value(i, Order::kFile);
    if (i == 0 ? options.adj_x() : options.adj_y()) {
      Axes order(shape.size());
      for (std::size_t axis = 0; axis < order.size(); ++axis) {
        order[axis] = static_cast<std::int64_t>(axis);
      }
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      Shape turned = shape;
      std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
      factor = op.add("Transpose", {factor}, turned, {{"perm", order}});
    }
    factors.push_back(factor);
  }
  const Shape a = op.shape_of(factors[0]);
  const Shape b = op.shape_of(factors[1]);
  op.require_alike(factors);
  const std::size_t rank = a.size();
  Shape result = a;
  result[rank - 1] = b[rank - 1];
  if (a[rank - 1] != b[rank - 2]) {
    op.refuse("multiplies " + to_string(a) + " and " + to_string(b));
  }
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) {
      op.refuse("multiplies " + to_string(a) + " and " + to_string(b));
    }
    result[i] = a[i] == 1 ? b[i] : a[i];
  }
  op.define(Order::kFile, op.add("MatMul", factors, result));
}

}  // namespace tare::tflite
