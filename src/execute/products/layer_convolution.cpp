// Which convolution computes a layer. A matrix product with known weights is one of one
// position over a column of rows, which oneDNN runs at least as fast as its own matrix product.
#include "execute/products/layer_convolution.h"

#include "tare/error.h"

#include "execute/elements/window.h"
#include "execute/operands.h"
#include "execute/products/onednn.h"

#include <algorithm>

namespace tare::onednn {
namespace {

/// oneDNN counts in 32 bits, bytes between taps included. Nothing that is trained comes near;
/// conv_far.cpp has the rest.
bool within_reach(const Window& window) {
  const auto near = [](const std::vector<std::int64_t>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](std::int64_t value) { return value <= (1 << 15); });
  };
  return near(window.strides) && near(window.dilations) && near(window.pads_begin) &&
         near(window.pads_end);
}

std::optional<Convolution> of_conv(const KernelRequest& request) {
  const Shape& input = required(request, 0).shape();
  const Shape& weights = required(request, 1).shape();
  if (!all_f32(request) || input.size() < 3 || input.size() > 5) {
    return std::nullopt;
  }
  auto spec = convolution_between(request.attributes(), input, weights, request.outputs[0]);
  if (!spec) {
    return std::nullopt;
  }
  spec->precise = request.precise;
  if (request.inputs[1].constant != nullptr) {
    spec->constant_weights = *request.inputs[1].constant;
  }
  if (request.has_input(2)) {
    expect_shape(request.inputs[2], {weights[0]});
    spec->computed_bias = request.inputs[2].constant == nullptr;
    if (!spec->computed_bias) {
      spec->constant_bias = *request.inputs[2].constant;
    }
  }
  return spec;
}

/// A matrix product with known weights.
struct Dense {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  bool transposed = false;  ///< weights are [columns,depth] instead of [depth,columns]
  Tensor weights;
  std::optional<Tensor> bias;
  bool precise = false;
};

Convolution of_dense(const Dense& dense) {
  const dnnl::memory::dims extents{dense.columns, dense.depth, 1, 1};
  const dnnl::memory::dims strides = dense.transposed
                                         ? dnnl::memory::dims{dense.depth, 1, 1, 1}
                                         : dnnl::memory::dims{1, dense.columns, 1, 1};
  return {.source = {1, dense.depth, dense.rows, 1},
          .result = {1, dense.columns, dense.rows, 1},
          .weights = extents,
          .weight_strides = strides,
          .strides = {1, 1},
          .dilations = {1, 1},
          .pads_begin = {0, 0},
          .pads_end = {0, 0},
          .constant_weights = dense.weights,
          .constant_bias = dense.bias,
          .precise = dense.precise};
}

Tensor scaled(const Tensor& tensor, float factor) {
  if (factor == 1) {
    return tensor;
  }
  Tensor result = tensor;
  for (float& x : result.mutable_view<float>()) {
    x *= factor;
  }
  return result;
}

bool has_known_weights(const KernelRequest& request) {
  const Operand& input = required(request, 0);
  const Operand& weights = required(request, 1);
  return all_f32(request) && weights.constant != nullptr && weights.shape().size() == 2 &&
         count_of(weights) > 0 && count_of(input) > 0;
}

[[noreturn]] void refuse_matrices(const Shape& input, const Shape& weights) {
  throw Error(ErrorCode::kInvalidModel, "",
              "matrices " + to_string(input) + " and " + to_string(weights) + " do not fit");
}

std::optional<Convolution> of_matmul(const KernelRequest& request) {
  if (!has_known_weights(request) || request.inputs[0].shape().empty()) {
    return std::nullopt;
  }
  const Shape& input = request.inputs[0].shape();
  const Shape& weights = request.inputs[1].shape();
  if (input.back() != weights[0]) {
    refuse_matrices(input, weights);
  }
  Shape result = input;
  result.back() = weights[1];
  expect_shape(request.outputs[0], result);
  return of_dense({.rows = element_count(input) / weights[0],
                   .depth = weights[0],
                   .columns = weights[1],
                   .transposed = false,
                   .weights = *request.inputs[1].constant,
                   .bias = {},
                   .precise = request.precise});
}

/// C as one known value per column, if it is that.
std::optional<Tensor> row_bias(const Operand& bias, std::int64_t columns, float beta) {
  if (bias.constant == nullptr) {
    return std::nullopt;
  }
  const std::int64_t count = element_count(bias.shape());
  if (count != 1 && (count != columns || bias.shape().back() != columns)) {
    return std::nullopt;
  }
  const Tensor values = scaled(*bias.constant, beta);
  return count == columns ? values.reshaped({columns})
                          : Tensor::of<float>(
                                {columns}, std::vector<float>(static_cast<std::size_t>(columns),
                                                              values.view<float>()[0]));
}

std::optional<Convolution> of_gemm(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  if (!has_known_weights(request) || attributes.integer("transA", 0) != 0 ||
      request.inputs[0].shape().size() != 2) {
    return std::nullopt;
  }
  const bool transposed = attributes.integer("transB", 0) != 0;
  const Shape& input = request.inputs[0].shape();
  const Shape& weights = request.inputs[1].shape();
  Dense dense{.rows = input[0],
              .depth = weights[transposed ? 1 : 0],
              .columns = weights[transposed ? 0 : 1],
              .transposed = transposed,
              .weights = scaled(*request.inputs[1].constant, attributes.real("alpha", 1)),
              .bias = {},
              .precise = request.precise};
  if (input[1] != dense.depth) {
    refuse_matrices(input, weights);
  }
  expect_shape(request.outputs[0], {dense.rows, dense.columns});
  if (request.has_input(2)) {
    dense.bias = row_bias(request.inputs[2], dense.columns, attributes.real("beta", 1));
    if (!dense.bias) {
      return std::nullopt;
    }
  }
  return of_dense(dense);
}

}  // namespace

std::optional<Convolution> convolution_between(const Attributes& attributes, const Shape& input,
                                               const Shape& weights, const Operand& result) {
  const Shape& output = result.shape();
  const std::int64_t groups = attributes.integer("group", 1);
  if (weights.size() != input.size() || groups < 1 || weights[0] % groups != 0 ||
      input[1] != weights[1] * groups) {
    throw Error(ErrorCode::kInvalidModel, "",
                "input " + to_string(input) + " does not fit weights " + to_string(weights) +
                    " in " + std::to_string(groups) + " groups");
  }
  const Window window = make_window(attributes, input, output, spatial(weights));
  Shape expected = output;  // the window vouches for the spatial extents
  expected[0] = input[0];
  expected[1] = weights[0];
  expect_shape(result, expected);
  if (!within_reach(window)) {
    return std::nullopt;
  }
  dnnl::memory::dims extents = weights;
  if (groups > 1) {
    extents[0] /= groups;
    extents.insert(extents.begin(), groups);
  }
  return Convolution{.source = input,
                     .result = output,
                     .weights = extents,
                     .weight_strides = dense_strides(extents),
                     .strides = window.strides,
                     .dilations = window.dilations,
                     .pads_begin = window.pads_begin,
                     .pads_end = window.pads_end,
                     .constant_weights = {},
                     .constant_bias = {}};
}

std::optional<Convolution> layer_convolution(const KernelRequest& request) {
  const std::string& op = request.node->op;
  auto result = op == "Conv"     ? of_conv(request)
                : op == "Gemm"   ? of_gemm(request)
                : op == "MatMul" ? of_matmul(request)
                                 : std::nullopt;
  if (result) {
    result->packing = request.packing;
  }
  return result;
}

}  // namespace tare::onednn
