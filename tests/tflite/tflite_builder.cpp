#include "tflite/tflite_builder.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <flatbuffers/flexbuffers.h>

namespace tare::test {

using namespace tflite::schema;
using tare::Tensor;  // and not the one of files
using FileType = tflite::schema::TensorType;

namespace {

FileType type_of(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return TensorType_INT8;
    case DType::kUint8:
      return TensorType_UINT8;
    case DType::kInt16:
      return TensorType_INT16;
    case DType::kInt32:
      return TensorType_INT32;
    case DType::kInt64:
      return TensorType_INT64;
    case DType::kFloat16:
      return TensorType_FLOAT16;
    case DType::kBool:
      return TensorType_BOOL;
    default:
      return TensorType_FLOAT32;
  }
}

std::vector<int> extents_of(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

template <class T>
Tensor any_tensor(const Shape& shape, std::mt19937& random, int low, int high) {
  std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
  for (T& value : values) {
    value = static_cast<T>(low +
                           static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
  }
  return Tensor::of<T>(shape, values);
}

Tensor indices(std::vector<std::int32_t> values) {
  return Tensor::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}

FileQuantization per_channel(std::size_t channels, int dimension) {
  FileQuantization result{{}, std::vector<std::int64_t>(channels), dimension};
  for (std::size_t c = 0; c < channels; ++c) {
    result.scale.push_back(0.01F + 0.003F * static_cast<float>(c));
  }
  return result;
}

TfliteBuilder::Options convolution(Padding padding, int stride, Activation activation) {
  return [=](flatbuffers::FlatBufferBuilder& to) {
    return CreateConv2DOptions(to, padding, stride, stride, activation).Union();
  };
}

/// The quantized network, or the same operators on real numbers.
std::vector<std::byte> small_network(bool quantized) {
  std::mt19937 random(1);
  TfliteBuilder file;
  const auto value = [&](const std::string& name, const Shape& shape,
                         const FileQuantization& q) {
    return quantized ? file.value(name, shape, TensorType_INT8, q) : file.value(name, shape);
  };
  const auto constant = [&](const std::string& name, const Tensor& integers,
                            const FileQuantization& q) {
    if (quantized) {
      return file.constant(name, integers, q);
    }
    std::vector<float> real = integers.to_float();
    std::transform(real.begin(), real.end(), real.begin(), [](float w) { return w / 100; });
    return file.constant(name, Tensor::of<float>(integers.shape(), real));
  };
  const int x = value("x", {1, 6, 5, 2}, per_tensor(0.05F, -3));
  const int w = constant("w", any_tensor<std::int8_t>({4, 3, 3, 2}, random, -127, 127),
                         per_channel(4, 0));
  const int b =
      constant("b", any_tensor<std::int32_t>({4}, random, -500, 500), per_channel(4, 3));
  const int conv = value("conv", {1, 3, 3, 4}, per_tensor(0.2F, -128));
  file.op(Builtin_CONV_2D, {x, w, b}, {conv}, BuiltinOptions_Conv2DOptions,
          convolution(Padding_SAME, 2, Activation_RELU));
  const int dw_w = constant("dw_w", any_tensor<std::int8_t>({1, 3, 3, 4}, random, -127, 127),
                            per_channel(4, 3));
  const int dw = value("dw", {1, 3, 3, 4}, per_tensor(6.0F / 255, -128));
  file.op(Builtin_DEPTHWISE_CONV_2D, {conv, dw_w, -1}, {dw},
          BuiltinOptions_DepthwiseConv2DOptions, [](flatbuffers::FlatBufferBuilder& to) {
            return CreateDepthwiseConv2DOptions(to, Padding_SAME, 1, 1, 1, Activation_RELU6)
                .Union();
          });
  const int sum = value("sum", {1, 3, 3, 4}, per_tensor(0.5F, -10));
  file.op(Builtin_ADD, {conv, dw}, {sum}, BuiltinOptions_AddOptions,
          [](flatbuffers::FlatBufferBuilder& to) { return CreateAddOptions(to).Union(); });
  const int pooled = value("pooled", {1, 2, 2, 4}, per_tensor(0.5F, -10));
  file.op(Builtin_AVERAGE_POOL_2D, {sum}, {pooled}, BuiltinOptions_Pool2DOptions,
          [](flatbuffers::FlatBufferBuilder& to) {
            return CreatePool2DOptions(to, Padding_VALID, 1, 1, 2, 2).Union();
          });
  const int axes = file.constant("axes", indices({1, 2}));
  const int mean = value("mean", {1, 4}, per_tensor(0.3F, -7));
  file.op(Builtin_MEAN, {pooled, axes}, {mean}, BuiltinOptions_ReducerOptions,
          [](flatbuffers::FlatBufferBuilder& to) {
            return CreateReducerOptions(to, false).Union();
          });
  const int fc_w = constant("fc_w", any_tensor<std::int8_t>({3, 4}, random, -127, 127),
                            per_tensor(0.02F, 0));
  const int fc_b = constant("fc_b", any_tensor<std::int32_t>({3}, random, -500, 500),
                            per_tensor(0.3F * 0.02F, 0));
  const int fc = value("fc", {1, 3}, per_tensor(0.6F, 11));
  file.op(Builtin_FULLY_CONNECTED, {mean, fc_w, fc_b}, {fc},
          BuiltinOptions_FullyConnectedOptions, [](flatbuffers::FlatBufferBuilder& to) {
            return CreateFullyConnectedOptions(to).Union();
          });
  const int y = value("y", {1, 3}, per_tensor(1.0F / 256, -128));
  file.op(
      Builtin_SOFTMAX, {fc}, {y}, BuiltinOptions_SoftmaxOptions,
      [](flatbuffers::FlatBufferBuilder& to) { return CreateSoftmaxOptions(to, 1).Union(); });
  return file.finish({x}, {y});
}

}  // namespace

std::vector<std::uint8_t> flexbuffer_map(const std::map<std::string, double>& options) {
  flexbuffers::Builder made;
  made.Map([&] {
    for (const auto& [name, value] : options) {
      if (value == std::floor(value)) {
        made.Int(name.c_str(), static_cast<std::int64_t>(value));
      } else {
        made.Float(name.c_str(), static_cast<float>(value));
      }
    }
  });
  made.Finish();
  return made.GetBuffer();
}

FileQuantization per_tensor(float scale, std::int64_t zero_point) {
  return {{scale}, {zero_point}, 0};
}

TfliteBuilder::TfliteBuilder() {
  buffers_.push_back(CreateBuffer(builder_));  // that of everything computed
}

int TfliteBuilder::tensor(const TensorSpec& spec) {
  flatbuffers::Offset<Quantization> quantization;
  if (spec.quantization) {
    quantization =
        CreateQuantization(builder_, 0, 0, builder_.CreateVector(spec.quantization->scale),
                           builder_.CreateVector(spec.quantization->zero_point),
                           QuantizationDetails_NONE, 0, spec.quantization->dimension);
  }
  std::uint32_t buffer = 0;
  if (!spec.data.empty()) {
    builder_.ForceVectorAlignment(spec.data.size(), 1, 16);
    const auto data = builder_.CreateVector(
        reinterpret_cast<const std::uint8_t*>(spec.data.data()), spec.data.size());
    buffer = static_cast<std::uint32_t>(buffers_.size());
    buffers_.push_back(CreateBuffer(builder_, data));
  }
  const auto shape = builder_.CreateVector(extents_of(spec.shape));
  const auto name = builder_.CreateString(spec.name);
  flatbuffers::Offset<flatbuffers::Vector<int>> signature;
  if (!spec.signature.empty()) {
    signature = builder_.CreateVector(spec.signature);
  }
  tensors_.push_back(CreateTensor(builder_, shape, spec.type, buffer,
                                  spec.name.empty() ? 0 : name, quantization, spec.is_variable,
                                  0, signature));
  return static_cast<int>(tensors_.size()) - 1;
}

int TfliteBuilder::constant(const std::string& name, const Tensor& values,
                            std::optional<FileQuantization> quantization) {
  return tensor({.name = name,
                 .shape = values.shape(),
                 .type = type_of(values.dtype()),
                 .quantization = std::move(quantization),
                 .data = {values.data(), values.data() + values.byte_size()}});
}

int TfliteBuilder::variable(const std::string& name, const Tensor& like,
                            std::optional<FileQuantization> quantization) {
  return tensor({.name = name,
                 .shape = like.shape(),
                 .type = type_of(like.dtype()),
                 .quantization = std::move(quantization),
                 .is_variable = true});
}

int TfliteBuilder::computed(const std::string& name, const Tensor& like,
                            std::optional<FileQuantization> quantization) {
  return value(name, like.shape(), type_of(like.dtype()), std::move(quantization));
}

int TfliteBuilder::value(const std::string& name, Shape shape, FileType type,
                         std::optional<FileQuantization> quantization) {
  return tensor({.name = name,
                 .shape = std::move(shape),
                 .type = type,
                 .quantization = std::move(quantization)});
}

void TfliteBuilder::op(Builtin code, std::vector<int> inputs, std::vector<int> outputs,
                       BuiltinOptions type, const Options& options) {
  flatbuffers::Offset<void> made;
  if (options) {
    made = options(builder_);
  }
  codes_.push_back(CreateOperatorCode(
      builder_, static_cast<std::int8_t>(std::min(static_cast<int>(code), 127)), 0, 1, code));
  flatbuffers::Offset<flatbuffers::Vector<int>> between;
  if (!intermediates_.empty()) {
    between = builder_.CreateVector(std::exchange(intermediates_, {}));
  }
  operators_.push_back(
      CreateOperator(builder_, static_cast<std::uint32_t>(codes_.size()) - 1,
                     builder_.CreateVector(inputs), builder_.CreateVector(outputs),
                     options ? type : BuiltinOptions_NONE, made, 0, 0, 0, between));
}

void TfliteBuilder::custom_op(const std::string& name, std::vector<int> inputs,
                              std::vector<int> outputs,
                              const std::vector<std::uint8_t>& options) {
  codes_.push_back(CreateOperatorCode(builder_, static_cast<std::int8_t>(Builtin_CUSTOM),
                                      builder_.CreateString(name), 1, Builtin_CUSTOM));
  operators_.push_back(CreateOperator(
      builder_, static_cast<std::uint32_t>(codes_.size()) - 1, builder_.CreateVector(inputs),
      builder_.CreateVector(outputs), BuiltinOptions_NONE, 0, builder_.CreateVector(options)));
}

std::vector<std::byte> TfliteBuilder::finish(const std::vector<int>& inputs,
                                             const std::vector<int>& outputs) {
  const auto graph =
      CreateSubGraph(builder_, builder_.CreateVector(tensors_), builder_.CreateVector(inputs),
                     builder_.CreateVector(outputs), builder_.CreateVector(operators_),
                     builder_.CreateString("main"));
  const std::vector graphs{graph};
  FinishModelBuffer(
      builder_,
      CreateModel(builder_, 3, builder_.CreateVector(codes_), builder_.CreateVector(graphs),
                  builder_.CreateString("test"), builder_.CreateVector(buffers_)));
  const auto* bytes = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
  return {bytes, bytes + builder_.GetSize()};
}

std::vector<std::byte> small_quantized_network() {
  return small_network(true);
}

std::vector<std::byte> small_float_twin() {
  return small_network(false);
}

std::vector<std::byte> small_moving_network() {
  TfliteBuilder file;
  const auto u8 = TensorType_UINT8;
  const auto q = per_tensor(0.03F, 120);
  const int x = file.value("x", {1, 4, 4, 4}, u8, q);
  const int axis = file.constant("axis", indices({3}));
  const int a = file.value("a", {1, 4, 4, 2}, u8, q);
  const int b = file.value("b", {1, 4, 4, 2}, u8, q);
  file.op(Builtin_SPLIT, {axis, x}, {a, b});
  const int swish = file.value("swish", {1, 4, 4, 2}, u8, q);
  file.op(Builtin_HARD_SWISH, {a}, {swish});
  const int gate = file.value("gate", {1, 4, 4, 2}, u8, per_tensor(1.0F / 256, 0));
  file.op(Builtin_LOGISTIC, {b}, {gate});
  const int product = file.value("product", {1, 4, 4, 2}, u8, q);
  file.op(Builtin_MUL, {swish, gate}, {product}, BuiltinOptions_MulOptions,
          [](flatbuffers::FlatBufferBuilder& to) { return CreateMulOptions(to).Union(); });
  const int joined = file.value("joined", {1, 4, 8, 2}, u8, q);
  file.op(Builtin_CONCATENATION, {product, b}, {joined}, BuiltinOptions_ConcatenationOptions,
          [](flatbuffers::FlatBufferBuilder& to) {
            return CreateConcatenationOptions(to, 2).Union();
          });
  const int size = file.constant("size", indices({8, 8}));
  const int large = file.value("large", {1, 8, 8, 2}, u8, q);
  file.op(Builtin_RESIZE_NEAREST_NEIGHBOR, {joined, size}, {large},
          BuiltinOptions_ResizeNearestNeighborOptions, [](flatbuffers::FlatBufferBuilder& to) {
            return CreateResizeNearestNeighborOptions(to, false, true).Union();
          });
  const int pads = file.constant(
      "pads",
      Tensor::of<std::int32_t>({4, 2}, std::vector<std::int32_t>{0, 0, 1, 0, 0, 2, 0, 0}));
  const int padded = file.value("padded", {1, 9, 10, 2}, u8, q);
  file.op(Builtin_PAD, {large, pads}, {padded});
  const int begin = file.constant("begin", indices({0, 1, 0, 0}));
  const int end = file.constant("end", indices({1, 9, 10, 2}));
  const int steps = file.constant("steps", indices({1, 2, 3, 1}));
  const int part = file.value("part", {1, 4, 4, 2}, u8, q);
  file.op(Builtin_STRIDED_SLICE, {padded, begin, end, steps}, {part},
          BuiltinOptions_StridedSliceOptions, [](flatbuffers::FlatBufferBuilder& to) {
            return CreateStridedSliceOptions(to).Union();
          });
  const int order = file.constant("order", indices({0, 3, 1, 2}));
  const int turned = file.value("turned", {1, 2, 4, 4}, u8, q);
  file.op(Builtin_TRANSPOSE, {part, order}, {turned});
  const int flat = file.value("flat", {1, 32}, u8, q);
  file.op(Builtin_RESHAPE, {turned}, {flat});
  const int y = file.value("y", {1, 32});
  file.op(Builtin_DEQUANTIZE, {flat}, {y});
  return file.finish({x}, {y});
}

std::vector<std::byte> small_float_network() {
  TfliteBuilder file;
  const int x = file.value("x", {1, 5, 5, 1});
  const std::vector<float> ones(18, 0.5F);
  const int w = file.constant("w", Tensor::of<float>({2, 3, 3, 1}, ones));
  const int b = file.constant("b", Tensor::of<float>({2}, std::vector<float>{-1, 2}));
  const int conv = file.value("conv", {1, 3, 3, 2});
  file.op(Builtin_CONV_2D, {x, w, b}, {conv}, BuiltinOptions_Conv2DOptions,
          convolution(Padding_VALID, 1, Activation_RELU));
  std::vector<float> rows(36);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = 0.1F * static_cast<float>(i);
  }
  const int fc_w = file.constant("fc_w", Tensor::of<float>({2, 18}, rows));
  const int y = file.value("y", {1, 2});
  file.op(Builtin_FULLY_CONNECTED, {conv, fc_w}, {y}, BuiltinOptions_FullyConnectedOptions,
          [](flatbuffers::FlatBufferBuilder& to) {
            return CreateFullyConnectedOptions(to).Union();
          });
  return file.finish({x}, {y});
}

}  // namespace tare::test
