#pragma once

#include "tflite/operator_import.h"

#include <span>
#include <string_view>

namespace tare::tflite {

/// How one operator of TensorFlow Lite becomes operators of ONNX.
struct OperatorRule {
  schema::Builtin code = schema::Builtin_CUSTOM;
  void (*import)(OperatorImport&, std::string_view onnx) = nullptr;
  std::string_view onnx;      ///< where several rules share a function, what it makes
  std::string_view custom{};  ///< the name of a custom operator
};

/// Every operator that is imported.
std::span<const OperatorRule> operator_rules();
/// Null when the operator is not among them.
const OperatorRule* find_rule(const FileOperator&);

// Functions of the rules, by file. Options not named in `onnx` are those of the operator.

void convolution(OperatorImport&, std::string_view);
void depthwise_convolution(OperatorImport&, std::string_view);
void transposed_convolution(OperatorImport&, std::string_view);
void biased_transposed_convolution(OperatorImport&, std::string_view);
void fully_connected(OperatorImport&, std::string_view);
void batch_matmul(OperatorImport&, std::string_view);

void pool(OperatorImport&, std::string_view);
void resize_bilinear(OperatorImport&, std::string_view);
void resize_nearest(OperatorImport&, std::string_view);
void space_to_depth(OperatorImport&, std::string_view);
void depth_to_space(OperatorImport&, std::string_view);

void unary(OperatorImport&, std::string_view onnx);
void reciprocal_root(OperatorImport&, std::string_view);
void add(OperatorImport&, std::string_view);
void subtract(OperatorImport&, std::string_view);
void multiply(OperatorImport&, std::string_view);
void divide(OperatorImport&, std::string_view);
void binary(OperatorImport&, std::string_view onnx);
void relu(OperatorImport&, std::string_view);
void relu6(OperatorImport&, std::string_view);
void relu_n1_to_1(OperatorImport&, std::string_view);
void leaky_relu(OperatorImport&, std::string_view);
void prelu(OperatorImport&, std::string_view);
void gelu(OperatorImport&, std::string_view);
void convert(OperatorImport&, std::string_view);
void cast(OperatorImport&, std::string_view);

void floor_divide(OperatorImport&, std::string_view);
void floor_modulo(OperatorImport&, std::string_view);
void square(OperatorImport&, std::string_view);
void squared_difference(OperatorImport&, std::string_view);
void add_all(OperatorImport&, std::string_view);

void compare(OperatorImport&, std::string_view onnx);
void not_equal(OperatorImport&, std::string_view);
void logical(OperatorImport&, std::string_view onnx);
void logical_not(OperatorImport&, std::string_view);
void select(OperatorImport&, std::string_view);
void select_v2(OperatorImport&, std::string_view);

void reduce(OperatorImport&, std::string_view onnx);
void reduce_booleans(OperatorImport&, std::string_view onnx);
void local_response_normalization(OperatorImport&, std::string_view);
void softmax(OperatorImport&, std::string_view onnx);
void l2_normalization(OperatorImport&, std::string_view);
void arg_max(OperatorImport&, std::string_view onnx);

void svdf(OperatorImport&, std::string_view);
void unidirectional_sequence_lstm(OperatorImport&, std::string_view);

void detection_post_process(OperatorImport&, std::string_view);

void reshape(OperatorImport&, std::string_view);
void transpose(OperatorImport&, std::string_view);
void pad(OperatorImport&, std::string_view);
void mirror_pad(OperatorImport&, std::string_view);
void concatenation(OperatorImport&, std::string_view);
void pack(OperatorImport&, std::string_view);
void unpack(OperatorImport&, std::string_view);
void split(OperatorImport&, std::string_view);
void split_v(OperatorImport&, std::string_view);
void slice(OperatorImport&, std::string_view);
void strided_slice(OperatorImport&, std::string_view);
void gather(OperatorImport&, std::string_view);
void tile(OperatorImport&, std::string_view);
void reverse(OperatorImport&, std::string_view);
void space_to_batch(OperatorImport&, std::string_view);
void batch_to_space(OperatorImport&, std::string_view);

void gather_nd(OperatorImport&, std::string_view);
void scatter_nd(OperatorImport&, std::string_view);
void one_hot(OperatorImport&, std::string_view);
void top_k(OperatorImport&, std::string_view);
void cumsum(OperatorImport&, std::string_view);

void fill(OperatorImport&, std::string_view);
void broadcast_to(OperatorImport&, std::string_view);
void zeros_like(OperatorImport&, std::string_view);
void shape_of_operand(OperatorImport&, std::string_view);
void rank_of_operand(OperatorImport&, std::string_view);
void range(OperatorImport&, std::string_view);

}  // namespace tare::tflite
