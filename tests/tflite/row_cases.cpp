#include "tflite/row_cases.h"

#include "tflite/row_values.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tare::test {

using namespace tflite::schema;
using tare::Tensor;  // and not that of files

namespace {

template <class Function>
Tensor mapped(const Tensor& x, Function function) {
  std::vector<float> values = x.to_float();
  std::transform(values.begin(), values.end(), values.begin(),
                 [&](float value) { return static_cast<float>(function(value)); });
  return Tensor::of<float>(x.shape(), values);
}

double clipped(double x, double low, double high) {
  return std::min(std::max(x, low), high);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

std::vector<RowCase> functions() {
  struct Function {
    Builtin code;
    double (*of)(double);
  };
  const std::vector<Function> any_sign{
      {Builtin_ABS, [](double x) { return std::abs(x); }},
      {Builtin_CEIL, [](double x) { return std::ceil(x); }},
      {Builtin_COS, [](double x) { return std::cos(x); }},
      {Builtin_ELU, [](double x) { return x < 0 ? std::exp(x) - 1 : x; }},
      {Builtin_EXP, [](double x) { return std::exp(x); }},
      {Builtin_FLOOR, [](double x) { return std::floor(x); }},
      {Builtin_HARD_SWISH, [](double x) { return x * clipped(x + 3, 0, 6) / 6; }},
      {Builtin_LOGISTIC, sigmoid},
      {Builtin_NEG, [](double x) { return -x; }},
      {Builtin_RELU, [](double x) { return clipped(x, 0, 100); }},
      {Builtin_RELU6, [](double x) { return clipped(x, 0, 6); }},
      {Builtin_RELU_N1_TO_1, [](double x) { return clipped(x, -1, 1); }},
      {Builtin_ROUND, [](double x) { return std::nearbyint(x); }},
      {Builtin_SIN, [](double x) { return std::sin(x); }},
      {Builtin_TANH, [](double x) { return std::tanh(x); }},
  };
  const std::vector<Function> of_positive{
      {Builtin_LOG, [](double x) { return std::log(x); }},
      {Builtin_RSQRT, [](double x) { return 1 / std::sqrt(x); }},
      {Builtin_SQRT, [](double x) { return std::sqrt(x); }},
  };
  std::vector<RowCase> cases;
  const auto add = [&](const Function& row, const Tensor& x) {
    cases.push_back({row.code, {{x}}, {{mapped(x, row.of)}}});
  };
  for (const Function& row : any_sign) {
    add(row, f32({2, 3}, {-4.25F, -0.5F, 0, 0.75F, 2.5F, 7}));
  }
  for (const Function& row : of_positive) {
    add(row, f32({3}, {0.25F, 1, 7}));
  }
  const Tensor x = f32({3}, {-2, 0.5F, 3});
  const auto gelu = [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); };
  cases.push_back(
      {Builtin_GELU, {{x}}, {{mapped(x, gelu)}}, BuiltinOptions_GeluOptions, [](auto& to) {
         return CreateGeluOptions(to, false).Union();
       }});
  cases.push_back({Builtin_LEAKY_RELU,
                   {{x}},
                   {{f32({3}, {-0.5F, 0.5F, 3})}},
                   BuiltinOptions_LeakyReluOptions,
                   [](auto& to) { return CreateLeakyReluOptions(to, 0.25F).Union(); }});
  cases.push_back({Builtin_PRELU,
                   {{f32({1, 1, 2, 2}, {-1, -1, 2, -3})}, constant(f32({1, 1, 2}, {0.5F, 2}))},
                   {{f32({1, 1, 2, 2}, {-0.5F, -2, 2, -6})}}});
  const Tensor fractions = f32({3}, {-1.75F, 0.5F, 3.25F});
  cases.push_back({Builtin_CAST,
                   {{fractions}},
                   {{Tensor::of<std::int32_t>({3}, std::vector<std::int32_t>{-1, 0, 3})}}});
  // Three steps of 0.5 around 10; what lies outside saturates.
  const FileQuantization steps = per_tensor(0.5F, 10);
  const Tensor stored =
      Tensor::of<std::uint8_t>({4}, std::vector<std::uint8_t>{7, 10, 14, 255});
  cases.push_back(
      {Builtin_QUANTIZE, {{f32({4}, {-1.5F, 0.1F, 2, 200})}}, {{stored, false, steps}}});
  cases.push_back(
      {Builtin_DEQUANTIZE, {{stored, false, steps}}, {{f32({4}, {-1.5F, 0, 2, 122.5F})}}});
  return cases;
}

std::vector<RowCase> pairs() {
  const RowOperand a{f32({2, 2}, {1, 2, -3, 4})};
  const RowOperand b{f32({2}, {2, 3})};
  return {
      {Builtin_ADD, {a, b}, {{f32({2, 2}, {3, 5, -1, 7})}}},
      {Builtin_SUB, {a, b}, {{f32({2, 2}, {-1, -1, -5, 1})}}},
      {Builtin_MUL, {a, b}, {{f32({2, 2}, {2, 6, -6, 12})}}},
      {Builtin_DIV,
       {a, constant(b.values)},
       {{f32({2, 2}, {0.5F, 2.0F / 3, -1.5F, 4.0F / 3})}}},
      {Builtin_MAXIMUM, {a, b}, {{f32({2, 2}, {2, 3, 2, 4})}}},
      {Builtin_MINIMUM, {a, b}, {{f32({2, 2}, {1, 2, -3, 3})}}},
      {Builtin_POW, {a, b}, {{f32({2, 2}, {1, 8, 9, 64})}}},
  };
}

std::vector<RowCase> products() {
  std::vector<float> x(12);
  std::vector<float> w(8);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
  }
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<float>(i + 1);
  }
  return {
      // 0 1 2 3 / 6 7 8 9 times 1 2 3 4 / 5 6 7 8 and 10; one place further each is 2 more.
      {Builtin_CONV_2D,
       {{f32({1, 2, 3, 2}, x)}, constant(f32({1, 2, 2, 2}, w)), constant(f32({1}, {10}))},
       {{f32({1, 1, 2, 1}, {230, 302})}},
       BuiltinOptions_Conv2DOptions,
       [](auto& to) { return CreateConv2DOptions(to, Padding_VALID, 1, 1).Union(); }},
      // Results 0 and 1 are of channel 0, the others of channel 1.
      {Builtin_DEPTHWISE_CONV_2D,
       {{f32({1, 1, 2, 2}, {1, 2, 3, 4})}, constant(f32({1, 1, 1, 4}, {10, 20, 30, 40}))},
       {{f32({1, 1, 2, 4}, {10, 20, 60, 80, 30, 60, 120, 160})}},
       BuiltinOptions_DepthwiseConv2DOptions,
       [](auto& to) {
         return CreateDepthwiseConv2DOptions(to, Padding_SAME, 1, 1, 2).Union();
       }},
      {Builtin_TRANSPOSE_CONV,
       {numbers({1, 2, 4, 1}),
        constant(f32({1, 2, 2, 1}, {1, 2, 3, 4})),
        {f32({1, 1, 2, 1}, {5, 100})}},
       {{f32({1, 2, 4, 1}, {5, 10, 100, 200, 15, 20, 300, 400})}},
       BuiltinOptions_TransposeConvOptions,
       [](auto& to) { return CreateTransposeConvOptions(to, Padding_VALID, 2, 2).Union(); }},
      {Builtin_FULLY_CONNECTED,
       {{f32({1, 2}, {1, 2})},
        constant(f32({3, 2}, {1, 2, 3, 4, 5, 6})),
        constant(f32({3}, {10, 20, 30}))},
       {{f32({1, 3}, {15, 31, 47})}},
       BuiltinOptions_FullyConnectedOptions,
       [](auto& to) { return CreateFullyConnectedOptions(to).Union(); }},
      // The second factor is transposed.
      {Builtin_BATCH_MATMUL,
       {{f32({1, 2, 2}, {1, 2, 3, 4})}, {f32({1, 2, 2}, {5, 7, 6, 8})}},
       {{f32({1, 2, 2}, {19, 22, 43, 50})}},
       BuiltinOptions_BatchMatMulOptions,
       [](auto& to) { return CreateBatchMatMulOptions(to, false, true).Union(); }},
  };
}

std::vector<RowCase> windows() {
  const RowOperand image{f32({1, 2, 2, 1}, {1, 2, 3, 6})};
  const auto pool = [](auto& to) {
    return CreatePool2DOptions(to, Padding_SAME, 1, 1, 2, 2).Union();
  };
  const RowOperand depth{f32({1, 1, 1, 4}, {1, 2, 3, 4})};
  const RowOperand space{f32({1, 2, 2, 1}, {1, 2, 3, 4})};
  return {
      // Padding does not count.
      {Builtin_AVERAGE_POOL_2D,
       {image},
       {{f32({1, 2, 2, 1}, {3, 4, 4.5F, 6})}},
       BuiltinOptions_Pool2DOptions,
       pool},
      {Builtin_MAX_POOL_2D,
       {image},
       {{f32({1, 2, 2, 1}, {6, 6, 6, 6})}},
       BuiltinOptions_Pool2DOptions,
       pool},
      {Builtin_RESIZE_BILINEAR,
       {{f32({1, 1, 2, 1}, {1, 5})}, numbers({1, 3})},
       {{f32({1, 1, 3, 1}, {1, 3, 5})}},
       BuiltinOptions_ResizeBilinearOptions,
       [](auto& to) { return CreateResizeBilinearOptions(to, 0, 0, true).Union(); }},
      {Builtin_RESIZE_NEAREST_NEIGHBOR,
       {{f32({1, 1, 2, 1}, {1, 5})}, numbers({1, 5})},
       {{f32({1, 1, 5, 1}, {1, 1, 1, 5, 5})}},
       BuiltinOptions_ResizeNearestNeighborOptions,
       [](auto& to) { return CreateResizeNearestNeighborOptions(to).Union(); }},
      {Builtin_SPACE_TO_DEPTH,
       {space},
       {depth},
       BuiltinOptions_SpaceToDepthOptions,
       [](auto& to) { return CreateSpaceToDepthOptions(to, 2).Union(); }},
      {Builtin_DEPTH_TO_SPACE,
       {depth},
       {space},
       BuiltinOptions_DepthToSpaceOptions,
       [](auto& to) { return CreateDepthToSpaceOptions(to, 2).Union(); }},
  };
}

std::vector<RowCase> along_axes() {
  const RowOperand rows{f32({2, 3}, {1, 2, 6, 3, 8, 4})};
  const float third = std::log(3.0F);
  const auto places = [](std::vector<std::int64_t> values) {
    return RowOperand{Tensor::of<std::int64_t>({2}, values)};
  };
  return {
      {Builtin_MEAN, {rows, numbers({1})}, {{f32({2}, {3, 5})}}},
      {Builtin_SUM, {rows, numbers({-1})}, {{f32({2}, {9, 15})}}},
      {Builtin_REDUCE_MAX,
       {rows, numbers({0})},
       {{f32({1, 3}, {3, 8, 6})}},
       BuiltinOptions_ReducerOptions,
       [](auto& to) { return CreateReducerOptions(to, true).Union(); }},
      {Builtin_REDUCE_MIN, {rows, numbers({0, 1})}, {{f32({}, {1})}}},
      {Builtin_ARG_MAX, {rows, numbers({1})}, {places({2, 1})}},
      {Builtin_ARG_MIN, {rows, numbers({1})}, {places({0, 0})}},
      // With beta 2 as without and twice the numbers.
      {Builtin_SOFTMAX,
       {{f32({1, 2}, {0, third / 2})}},
       {{f32({1, 2}, {0.25F, 0.75F})}},
       BuiltinOptions_SoftmaxOptions,
       [](auto& to) { return CreateSoftmaxOptions(to, 2).Union(); }},
      {Builtin_LOG_SOFTMAX,
       {{f32({1, 2}, {0, third})}},
       {{f32({1, 2}, {std::log(0.25F), std::log(0.75F)})}}},
      {Builtin_L2_NORMALIZATION, {{f32({1, 2}, {3, 4})}}, {{f32({1, 2}, {0.6F, 0.8F})}}},
  };
}

std::vector<RowCase> movements() {
  const RowOperand rows{f32({2, 3}, {1, 2, 3, 4, 5, 6})};
  const RowOperand row{f32({4}, {1, 2, 3, 4})};
  const RowOperand low{f32({2}, {1, 2})};
  const RowOperand high{f32({2}, {3, 4})};
  const RowOperand both{f32({2, 2}, {1, 2, 3, 4})};
  return {
      {Builtin_RESHAPE, {rows, numbers({3, 2})}, {{f32({3, 2}, {1, 2, 3, 4, 5, 6})}}},
      {Builtin_SQUEEZE, {{f32({1, 2}, {1, 2})}}, {low}},
      {Builtin_EXPAND_DIMS, {low, number(1)}, {{f32({2, 1}, {1, 2})}}},
      {Builtin_TRANSPOSE, {rows, numbers({1, 0})}, {{f32({3, 2}, {1, 4, 2, 5, 3, 6})}}},
      {Builtin_PAD, {low, numbers({1, 2})}, {{f32({5}, {0, 1, 2, 0, 0})}}},
      {Builtin_PADV2,
       {low, numbers({1, 2}), constant(Tensor::scalar(9.0F))},
       {{f32({5}, {9, 1, 2, 9, 9})}}},
      {Builtin_MIRROR_PAD,
       {row, numbers({1, 2})},
       {{f32({7}, {2, 1, 2, 3, 4, 3, 2})}},
       BuiltinOptions_MirrorPadOptions,
       [](auto& to) { return CreateMirrorPadOptions(to, MirrorMode_REFLECT).Union(); }},
      {Builtin_TILE, {low, numbers({2})}, {{f32({4}, {1, 2, 1, 2})}}},
      {Builtin_CONCATENATION,
       {low, high},
       {row},
       BuiltinOptions_ConcatenationOptions,
       [](auto& to) { return CreateConcatenationOptions(to, -1).Union(); }},
      {Builtin_PACK,
       {low, high},
       {both},
       BuiltinOptions_PackOptions,
       [](auto& to) { return CreatePackOptions(to, 2, 0).Union(); }},
      {Builtin_UNPACK,
       {both},
       {low, high},
       BuiltinOptions_UnpackOptions,
       [](auto& to) { return CreateUnpackOptions(to, 2, 0).Union(); }},
      {Builtin_SPLIT, {number(0), row}, {low, high}},
      {Builtin_SPLIT_V,
       {row, numbers({1, 3}), number(0)},
       {{f32({1}, {1})}, {f32({3}, {2, 3, 4})}}},
      {Builtin_SLICE, {rows, numbers({1, 1}), numbers({1, -1})}, {{f32({1, 2}, {5, 6})}}},
      // Row 1, backwards from its end.
      {Builtin_STRIDED_SLICE,
       {rows, numbers({1, 0}), numbers({2, 0}), numbers({1, -2})},
       {{f32({2}, {6, 4})}},
       BuiltinOptions_StridedSliceOptions,
       [](auto& to) { return CreateStridedSliceOptions(to, 2, 2, 0, 0, 1).Union(); }},
      {Builtin_GATHER,
       {rows, numbers({2, 0})},
       {{f32({2, 2}, {3, 1, 6, 4})}},
       BuiltinOptions_GatherOptions,
       [](auto& to) { return CreateGatherOptions(to, 1).Union(); }},
  };
}

/// As TRANSPOSE_CONV above, and a bias; with SAME padding the last row and column are cut off.
std::vector<RowCase> convolutions_of_media_pipe() {
  const auto one = [](std::uint8_t padding, std::uint8_t stride, const Tensor& result) {
    RowCase row{Builtin_CUSTOM,
                {{f32({1, 1, 2, 1}, {5, 100})},
                 constant(f32({1, 2, 2, 1}, {1, 2, 3, 4})),
                 constant(f32({1}, {1000}))},
                {{result}}};
    row.custom = "Convolution2DTransposeBias";
    row.custom_options = {padding, 0, 0, 0, stride, 0, 0, 0, stride, 0, 0, 0};
    return row;
  };
  return {one(2, 2, f32({1, 2, 4, 1}, {1005, 1010, 1100, 1200, 1015, 1020, 1300, 1400})),
          one(1, 1, f32({1, 1, 2, 1}, {1005, 1110}))};
}

/// Three boxes around anchors: the second overlaps the first, which is better; the third is
/// twice as high as its anchor.
std::vector<RowCase> detections() {
  const float twice = 5 * std::log(2.0F);
  RowCase one{Builtin_CUSTOM,
              {{f32({1, 3, 4}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, twice, 0})},
               {f32({1, 3, 3}, {0.99F, 0.3F, 0.9F, 0, 0.8F, 0.1F, 0, 0.6F, 0.5F})},
               constant(f32({3, 4}, {0.5, 0.5, 1, 1, 0.5, 0.5, 1, 1, 2.5, 2.5, 1, 1}))},
              {{f32({1, 3, 4}, {0, 0, 1, 1, 1.5, 2, 3.5, 3, 0, 0, 0, 0})},
               {f32({1, 3}, {1, 0, 0})},
               {f32({1, 3}, {0.9F, 0.6F, 0})},
               {f32({1}, {2})}}};
  one.custom = "TFLite_Detection_PostProcess";
  one.custom_options = flexbuffer_map({{"num_classes", 2},
                                       {"max_detections", 3},
                                       {"max_classes_per_detection", 1},
                                       {"nms_score_threshold", 0.2},
                                       {"nms_iou_threshold", 0.5},
                                       {"y_scale", 10},
                                       {"x_scale", 10},
                                       {"h_scale", 5},
                                       {"w_scale", 5}});
  return {one};
}

}  // namespace

std::vector<RowCase> row_cases() {
  std::vector<RowCase> all;
  for (auto* part : {functions, pairs, products, windows, along_axes, movements, detections,
                     convolutions_of_media_pipe, choice_row_cases, index_row_cases}) {
    std::vector<RowCase> cases = part();
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<std::byte> file_of(const RowCase& one) {
  TfliteBuilder file;
  std::vector<int> operands;
  std::vector<int> inputs;
  for (const RowOperand& operand : one.operands) {
    const std::string name = "x" + std::to_string(operands.size());
    if (operand.absent) {
      operands.push_back(-1);
    } else if (operand.variable) {
      operands.push_back(file.variable(name, operand.values, operand.quantization));
    } else if (operand.constant) {
      operands.push_back(file.constant(name, operand.values, operand.quantization));
    } else {
      operands.push_back(file.computed(name, operand.values, operand.quantization));
      inputs.push_back(operands.back());
    }
  }
  std::vector<int> results;
  for (const RowOperand& result : one.results) {
    results.push_back(file.computed("y" + std::to_string(results.size()), result.values,
                                    result.quantization));
  }
  for (const RowOperand& between : one.intermediates) {
    file.intermediate(file.computed("between", between.values, between.quantization));
  }
  if (one.code == Builtin_CUSTOM) {
    file.custom_op(one.custom, operands, results, one.custom_options);
  } else {
    file.op(one.code, operands, results, one.type, one.options);
  }
  return file.finish(inputs, results);
}

}  // namespace tare::test
