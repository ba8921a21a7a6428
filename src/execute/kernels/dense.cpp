// Gemm and MatMul with constant weights as a pointwise convolution by oneDNN.
#include "tare/error.h"

#include "execute/operands.h"
#include "execute/products/convolution.h"

#include <algorithm>

namespace tare {
namespace {

/// A matrix product with known weights: as a convolution of one position over a column of rows,
/// which oneDNN runs at least as fast as its own matrix product.
struct Dense {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  bool transposed = false;  ///< weights are [columns,depth] instead of [depth,columns]
  Tensor weights;
  std::optional<Tensor> bias;
  bool precise = false;
};

std::unique_ptr<Kernel> dense_kernel(const Dense& dense, const std::vector<PostOp>& post_ops) {
  const dnnl::memory::dims extents{dense.columns, dense.depth, 1, 1};
  const dnnl::memory::dims strides = dense.transposed
                                         ? dnnl::memory::dims{dense.depth, 1, 1, 1}
                                         : dnnl::memory::dims{1, dense.columns, 1, 1};
  return onednn::make_convolution({.source = {1, dense.depth, dense.rows, 1},
                                   .result = {1, dense.columns, dense.rows, 1},
                                   .weights = extents,
                                   .weight_strides = strides,
                                   .strides = {1, 1},
                                   .dilations = {1, 1},
                                   .pads_begin = {0, 0},
                                   .pads_end = {0, 0},
                                   .constant_weights = dense.weights,
                                   .constant_bias = dense.bias,
                                   .precise = dense.precise},
                                  post_ops);
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

bool fits(const KernelRequest& request) {
  const Operand& input = required(request, 0);
  const Operand& weights = required(request, 1);
  return all_f32(request) &&
         scales_along(request.post_ops, request.outputs[0].shape().size() - 1) &&
         weights.constant != nullptr && weights.shape().size() == 2 && count_of(weights) > 0 &&
         count_of(input) > 0;
}

[[noreturn]] void refuse(const Shape& input, const Shape& weights) {
  throw Error(ErrorCode::kInvalidModel, "",
              "matrices " + to_string(input) + " and " + to_string(weights) + " do not fit");
}

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request) {
  if (!fits(request) || request.inputs[0].shape().empty()) {
    return nullptr;
  }
  const Shape& input = request.inputs[0].shape();
  const Shape& weights = request.inputs[1].shape();
  if (input.back() != weights[0]) {
    refuse(input, weights);
  }
  Shape result = input;
  result.back() = weights[1];
  expect_shape(request.outputs[0], result);
  return dense_kernel({.rows = element_count(input) / weights[0],
                       .depth = weights[0],
                       .columns = weights[1],
                       .transposed = false,
                       .weights = *request.inputs[1].constant,
                       .bias = {},
                       .precise = request.precise},
                      request.post_ops);
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

std::unique_ptr<Kernel> make_gemm(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  if (!fits(request) || attributes.integer("transA", 0) != 0 ||
      request.inputs[0].shape().size() != 2) {
    return nullptr;
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
    refuse(input, weights);
  }
  expect_shape(request.outputs[0], {dense.rows, dense.columns});
  if (request.has_input(2)) {
    dense.bias = row_bias(request.inputs[2], dense.columns, attributes.real("beta", 1));
    if (!dense.bias) {
      return nullptr;
    }
  }
  return dense_kernel(dense, request.post_ops);
}

std::unique_ptr<Kernel> make_dense(const KernelRequest& request) {
  return request.node->op == "Gemm" ? make_gemm(request) : make_matmul(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(dense) {
  using namespace tare;
  return {.ops = {"Gemm", "MatMul"}, .make = make_dense, .fuses_post_ops = true};
}
