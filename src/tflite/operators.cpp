#include "tflite/operators.h"

#include <algorithm>
#include <array>

namespace tare::tflite {
namespace {

// clang-format off: a table reads best as one
const auto& rules() {
  using namespace schema;
  static constexpr std::array kRules{
      OperatorRule{Builtin_ABS, unary, "Abs"},
      OperatorRule{Builtin_ADD, add, ""},
      OperatorRule{Builtin_ADD_N, add_all, ""},
      OperatorRule{Builtin_ARG_MAX, arg_max, "ArgMax"},
      OperatorRule{Builtin_ARG_MIN, arg_max, "ArgMin"},
      OperatorRule{Builtin_AVERAGE_POOL_2D, pool, "AveragePool"},
      OperatorRule{Builtin_BATCH_MATMUL, batch_matmul, ""},
      OperatorRule{Builtin_BATCH_TO_SPACE_ND, batch_to_space, ""},
      OperatorRule{Builtin_BROADCAST_TO, broadcast_to, ""},
      OperatorRule{Builtin_CAST, cast, ""},
      OperatorRule{Builtin_CEIL, unary, "Ceil"},
      OperatorRule{Builtin_CONCATENATION, concatenation, ""},
      OperatorRule{Builtin_CONV_2D, convolution, ""},
      OperatorRule{Builtin_COS, unary, "Cos"},
      OperatorRule{Builtin_CUMSUM, cumsum, ""},
      OperatorRule{Builtin_CUSTOM, detection_post_process, "", "TFLite_Detection_PostProcess"},
      OperatorRule{Builtin_CUSTOM, biased_transposed_convolution, "",
                   "Convolution2DTransposeBias"},
      OperatorRule{Builtin_DEPTHWISE_CONV_2D, depthwise_convolution, ""},
      OperatorRule{Builtin_DEPTH_TO_SPACE, depth_to_space, ""},
      OperatorRule{Builtin_DEQUANTIZE, convert, ""},
      OperatorRule{Builtin_DIV, divide, ""},
      OperatorRule{Builtin_ELU, unary, "Elu"},
      OperatorRule{Builtin_EQUAL, compare, "Equal"},
      OperatorRule{Builtin_EXP, unary, "Exp"},
      OperatorRule{Builtin_EXPAND_DIMS, reshape, ""},
      OperatorRule{Builtin_FILL, fill, ""},
      OperatorRule{Builtin_FLOOR, unary, "Floor"},
      OperatorRule{Builtin_FLOOR_DIV, floor_divide, ""},
      OperatorRule{Builtin_FLOOR_MOD, floor_modulo, ""},
      OperatorRule{Builtin_FULLY_CONNECTED, fully_connected, ""},
      OperatorRule{Builtin_GATHER, gather, ""},
      OperatorRule{Builtin_GATHER_ND, gather_nd, ""},
      OperatorRule{Builtin_GELU, gelu, ""},
      OperatorRule{Builtin_GREATER, compare, "Greater"},
      OperatorRule{Builtin_GREATER_EQUAL, compare, "GreaterOrEqual"},
      OperatorRule{Builtin_HARD_SWISH, unary, "HardSwish"},
      OperatorRule{Builtin_L2_NORMALIZATION, l2_normalization, ""},
      OperatorRule{Builtin_LEAKY_RELU, leaky_relu, ""},
      OperatorRule{Builtin_LESS, compare, "Less"},
      OperatorRule{Builtin_LESS_EQUAL, compare, "LessOrEqual"},
      OperatorRule{Builtin_LOCAL_RESPONSE_NORMALIZATION, local_response_normalization, ""},
      OperatorRule{Builtin_LOG, unary, "Log"},
      OperatorRule{Builtin_LOGICAL_AND, logical, "And"},
      OperatorRule{Builtin_LOGICAL_NOT, logical_not, ""},
      OperatorRule{Builtin_LOGICAL_OR, logical, "Or"},
      OperatorRule{Builtin_LOGISTIC, unary, "Sigmoid"},
      OperatorRule{Builtin_LOG_SOFTMAX, softmax, "LogSoftmax"},
      OperatorRule{Builtin_MAXIMUM, binary, "Max"},
      OperatorRule{Builtin_MAX_POOL_2D, pool, "MaxPool"},
      OperatorRule{Builtin_MEAN, reduce, "ReduceMean"},
      OperatorRule{Builtin_MINIMUM, binary, "Min"},
      OperatorRule{Builtin_MIRROR_PAD, mirror_pad, ""},
      OperatorRule{Builtin_MUL, multiply, ""},
      OperatorRule{Builtin_NEG, unary, "Neg"},
      OperatorRule{Builtin_NOT_EQUAL, not_equal, ""},
      OperatorRule{Builtin_ONE_HOT, one_hot, ""},
      OperatorRule{Builtin_PACK, pack, ""},
      OperatorRule{Builtin_PAD, pad, ""},
      OperatorRule{Builtin_PADV2, pad, ""},
      OperatorRule{Builtin_POW, binary, "Pow"},
      OperatorRule{Builtin_PRELU, prelu, ""},
      OperatorRule{Builtin_QUANTIZE, convert, ""},
      OperatorRule{Builtin_RANGE, range, ""},
      OperatorRule{Builtin_RANK, rank_of_operand, ""},
      OperatorRule{Builtin_REDUCE_ALL, reduce_booleans, "ReduceMin"},
      OperatorRule{Builtin_REDUCE_ANY, reduce_booleans, "ReduceMax"},
      OperatorRule{Builtin_REDUCE_MAX, reduce, "ReduceMax"},
      OperatorRule{Builtin_REDUCE_MIN, reduce, "ReduceMin"},
      OperatorRule{Builtin_REDUCE_PROD, reduce, "ReduceProd"},
      OperatorRule{Builtin_RELU, relu, ""},
      OperatorRule{Builtin_RELU6, relu6, ""},
      OperatorRule{Builtin_RELU_N1_TO_1, relu_n1_to_1, ""},
      OperatorRule{Builtin_RESHAPE, reshape, ""},
      OperatorRule{Builtin_RESIZE_BILINEAR, resize_bilinear, ""},
      OperatorRule{Builtin_RESIZE_NEAREST_NEIGHBOR, resize_nearest, ""},
      OperatorRule{Builtin_REVERSE_V2, reverse, ""},
      OperatorRule{Builtin_ROUND, unary, "Round"},
      OperatorRule{Builtin_RSQRT, reciprocal_root, ""},
      OperatorRule{Builtin_SCATTER_ND, scatter_nd, ""},
      OperatorRule{Builtin_SELECT, select, ""},
      OperatorRule{Builtin_SELECT_V2, select_v2, ""},
      OperatorRule{Builtin_SHAPE, shape_of_operand, ""},
      OperatorRule{Builtin_SIGN, unary, "Sign"},
      OperatorRule{Builtin_SIN, unary, "Sin"},
      OperatorRule{Builtin_SLICE, slice, ""},
      OperatorRule{Builtin_SOFTMAX, softmax, "Softmax"},
      OperatorRule{Builtin_SPACE_TO_BATCH_ND, space_to_batch, ""},
      OperatorRule{Builtin_SPACE_TO_DEPTH, space_to_depth, ""},
      OperatorRule{Builtin_SPLIT, split, ""},
      OperatorRule{Builtin_SPLIT_V, split_v, ""},
      OperatorRule{Builtin_SQRT, unary, "Sqrt"},
      OperatorRule{Builtin_SQUARE, square, ""},
      OperatorRule{Builtin_SQUARED_DIFFERENCE, squared_difference, ""},
      OperatorRule{Builtin_SQUEEZE, reshape, ""},
      OperatorRule{Builtin_STRIDED_SLICE, strided_slice, ""},
      OperatorRule{Builtin_SUB, subtract, ""},
      OperatorRule{Builtin_SUM, reduce, "ReduceSum"},
      OperatorRule{Builtin_SVDF, svdf, ""},
      OperatorRule{Builtin_TANH, unary, "Tanh"},
      OperatorRule{Builtin_TILE, tile, ""},
      OperatorRule{Builtin_TOPK_V2, top_k, ""},
      OperatorRule{Builtin_TRANSPOSE, transpose, ""},
      OperatorRule{Builtin_TRANSPOSE_CONV, transposed_convolution, ""},
      OperatorRule{Builtin_UNIDIRECTIONAL_SEQUENCE_LSTM, unidirectional_sequence_lstm, ""},
      OperatorRule{Builtin_UNPACK, unpack, ""},
      OperatorRule{Builtin_ZEROS_LIKE, zeros_like, ""},
  };
  return kRules;
}
// clang-format on

}  // namespace

std::span<const OperatorRule> operator_rules() {
  return rules();
}

const OperatorRule* find_rule(const FileOperator& op) {
  const auto all = operator_rules();
  const auto found = std::find_if(all.begin(), all.end(), [&](const OperatorRule& rule) {
    return rule.code == op.code &&
           (op.code != schema::Builtin_CUSTOM || rule.custom == op.name);
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace tare::tflite
