// Sums of products. Weights are O H W I in the file (depthwise ones 1 H W O) and O I H W in the
// graph; the axis of their scales moves with them.
#include "graph/operators/permute.h"
#include "tflite/bias.h"
#include "tflite/operators.h"
#include "tflite/window_shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tare::tflite {
namespace {

using Axes = std::vector<std::int64_t>;

/// Steps of a bias in int32: the product of the operands' scales, for each channel or for all.
/// What files say of it is the same number, rounded elsewhere.
QuantParams bias_parameters(const QuantParams& x, QuantParams w) {
  w.storage = DType::kInt32;
  w.axis = w.axis ? std::optional(0) : std::nullopt;
  w.zero_point = std::vector<std::int32_t>(w.zero_point.size());
  for (float& scale : w.scale.mutable_view()) {
    scale *= x.scale[0];
  }
  return w;
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
      op.add("Conv", operands_of_sums(op, op.value(0, Order::kChannelsFirst), w, b),
             Shape{op.shape(0)[0], weights[0], window.output[0], window.output[1]},
             {{"kernel_shape", window.kernel},
              {"strides", window.strides},
              {"dilations", window.dilations},
              {"pads", window.pads},
              {"group", channels / weights[1]}});
  op.define(Order::kChannelsFirst, op.activated(y, options.activation()));
}

/// Operand i, its last two axes exchanged if it is transposed.
ValueId matrices(OperatorImport& op, std::size_t i, bool is_transposed) {
  const ValueId x = op.value(i, Order::kFile);
  if (!is_transposed) {
    return x;
  }
  Axes order(op.rank(i));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return op.add("Transpose", {x}, permuted(op.shape(i), order), {{"perm", order}});
}

/// Of two stacks of matrices of one rank.
Shape product_shape(const OperatorImport& op, const std::vector<ValueId>& factors) {
  const Shape a = op.shape_of(factors[0]);
  const Shape b = op.shape_of(factors[1]);
  const std::size_t rank = a.size();
  bool fits = a[rank - 1] == b[rank - 2];
  Shape result = a;
  result[rank - 1] = b[rank - 1];
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    fits = fits && (a[i] == b[i] || a[i] == 1 || b[i] == 1);
    result[i] = a[i] == 1 ? b[i] : a[i];
  }
  if (!fits) {
    op.refuse("multiplies " + to_string(a) + " and " + to_string(b));
  }
  return result;
}

}  // namespace

std::vector<ValueId> operands_of_sums(const OperatorImport& op, ValueId x, ValueId w,
                                      ValueId b) {
  const std::vector<ValueId> all = b ? std::vector{x, w, b} : std::vector{x, w};
  op.require_alike(all);
  return all;
}

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
  const QuantParams params = bias_parameters(*x.type.quant, *w.type.quant);
  const auto count = static_cast<std::size_t>(b.constant->size());
  if (params.scale.size() != 1 && params.scale.size() != count) {
    op.refuse("its bias has " + std::to_string(count) + " elements",
              std::to_string(params.scale.size()) + ", as there are scales");
  }
  const auto is_scale = [](float scale) { return scale > 0 && std::isfinite(scale); };
  GraphImport& graph = op.graph();
  if (b.type.dtype == DType::kInt32 &&
      std::all_of(params.scale.begin(), params.scale.end(), is_scale)) {
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
  const ValueId y = op.add("Gemm", operands_of_sums(op, x, op.value(1, Order::kFile), b),
                           Shape{rows, weights[0]}, {{"transB", std::int64_t{1}}});
  const Shape& wanted = op.output().type.shape;
  op.define(Order::kFile, op.reshaped(op.activated(y, options.activation()), wanted));
}

void batch_matmul(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::BatchMatMulOptions>();
  if (op.rank(0) < 2 || op.rank(0) != op.rank(1)) {
    op.unsupported(
        "has operands of shapes " + to_string(op.shape(0)) + " and " + to_string(op.shape(1)),
        "matrices in equally many axes");
  }
  const std::vector<ValueId> factors{matrices(op, 0, options.adj_x()),
                                     matrices(op, 1, options.adj_y())};
  op.require_alike(factors);
  op.define(Order::kFile, op.add("MatMul", factors, product_shape(op, factors)));
}

}  // namespace tare::tflite
