#include "tflite/import.h"

#include "tare/error.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/report.h"

#include "graph/arithmetic/half.h"
#include "lower/lower.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "tflite/golden.h"
#include "tflite/tflite_builder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using namespace tflite::schema;
using tare::Tensor;  // and not those of files
using tare::TensorType;

std::string import_error(const std::vector<std::byte>& bytes, ErrorCode code) {
  return message_of([&] { return tflite::import_model(tflite::ModelFile(bytes)); }, code);
}

TfliteBuilder::Options convolution(Activation activation = Activation_NONE) {
  return [=](flatbuffers::FlatBufferBuilder& to) {
    return CreateConv2DOptions(to, Padding_VALID, 1, 1, activation).Union();
  };
}

/// x (u8 of these parameters) convolved with a 1 x 1 kernel of one channel.
std::vector<std::byte> one_product(const FileQuantization& x, const FileQuantization& w,
                                   const FileQuantization& y, std::uint8_t weight,
                                   std::int32_t bias, const FileQuantization& b,
                                   Activation activation = Activation_NONE) {
  TfliteBuilder file;
  const int in = file.value("x", {1, 2, 2, 1}, TensorType_UINT8, x);
  const int weights = file.constant(
      "w", Tensor::of<std::uint8_t>({1, 1, 1, 1}, std::vector<std::uint8_t>{weight}), w);
  const int biases =
      file.constant("b", Tensor::of<std::int32_t>({1}, std::vector<std::int32_t>{bias}), b);
  const int out = file.value("y", {1, 2, 2, 1}, TensorType_UINT8, y);
  file.op(Builtin_CONV_2D, {in, weights, biases}, {out}, BuiltinOptions_Conv2DOptions,
          convolution(activation));
  return file.finish({in}, {out});
}

std::vector<std::int64_t> run(const std::vector<std::byte>& bytes, Numerics numerics,
                              std::vector<std::uint8_t> x) {
  const tflite::ModelFile file(bytes);
  const Graph integer = integer_graph(file, numerics);
  const Tensor input = Tensor::of<std::uint8_t>(integer.type(integer.inputs()[0]).shape,
                                                std::span<const std::uint8_t>(x));
  return Executable(integer).run(std::span(&input, 1)).at(0).to_int64();
}

TEST(TfliteImport, ComputesTheFloatNetworkOfTheFile) {
  const Graph graph = tflite::import_model(tflite::ModelFile(small_float_network()));
  std::vector<float> x(25);
  std::iota(x.begin(), x.end(), -12.0F);
  const Tensor input = Tensor::of<float>({1, 5, 5, 1}, x);
  // By hand: sums of nine neighbours halved, bias, no less than 0, in the file's order.
  std::vector<float> conv;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      float sum = 0;
      for (std::size_t k = 0; k < 9; ++k) {
        sum += 0.5F * x[(row + k / 3) * 5 + column + k % 3];
      }
      conv.push_back(std::max(sum - 1, 0.0F));
      conv.push_back(std::max(sum + 2, 0.0F));
    }
  }
  const auto y = Executable(graph).run(std::span(&input, 1)).at(0).to_float();
  for (std::size_t row = 0; row < 2; ++row) {
    float wanted = 0;
    for (std::size_t i = 0; i < 18; ++i) {
      wanted += 0.1F * static_cast<float>(row * 18 + i) * conv[i];
    }
    EXPECT_NEAR(y[row], wanted, 1e-5F * wanted);
  }
}

/// In float16, which holds these values exactly.
Tensor in_half(const Shape& shape, const std::vector<float>& values) {
  Tensor half(DType::kFloat16, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = float_to_half(values[i]);
    std::memcpy(half.mutable_data() + 2 * i, &bits, 2);
  }
  return half;
}

/// What a converter writes that was asked for float16, and for integers by some versions.
TEST(TfliteImport, FindsTheWeightsOfFloatLayersBehindADequantize) {
  const auto network = [](const Tensor& weights, const std::optional<FileQuantization>& how) {
    TfliteBuilder file;
    const int x = file.value("x", {1, 1, 2, 2});
    const int stored = file.constant("stored", weights, how);
    const int w = file.value("w", weights.shape());
    file.op(Builtin_DEQUANTIZE, {stored}, {w});
    const int half_bias = file.constant("half", in_half({2}, {0.5F, -1}));
    const int b = file.value("b", {2});
    file.op(Builtin_DEQUANTIZE, {half_bias}, {b});
    const int y = file.value("y", {1, 1, 2, 2});
    file.op(Builtin_CONV_2D, {x, w, b}, {y}, BuiltinOptions_Conv2DOptions, convolution());
    const int z = file.value("z", {1, 1, 2, 2});
    file.op(Builtin_PRELU, {y, b}, {z});
    return file.finish({x}, {z});
  };
  const Tensor half = in_half({2, 1, 1, 2}, {1, 0.25F, -2, 4});
  const Tensor integers =
      Tensor::of<std::int8_t>({2, 1, 1, 2}, std::vector<std::int8_t>{4, 1, -4, 8});
  const FileQuantization steps{.scale = {0.25F, 0.5F}, .zero_point = {0, 0}, .dimension = 0};
  const Tensor input = Tensor::of<float>({1, 1, 2, 2}, std::vector<float>{1, 2, -3, 4});
  for (const auto& bytes : {network(half, std::nullopt), network(integers, steps)}) {
    const Graph graph = tflite::import_model(tflite::ModelFile(bytes));
    // By hand: x w + b, below 0 times 0.5 and -1.
    EXPECT_EQ(Executable(graph).run(std::span(&input, 1)).at(0).to_float(),
              (std::vector<float>{2, 5, -0.75F, 21}));
    const QuantizeResult quantized =
        quantize(graph, SamplesInMemory({{"x", input}}), {}, Toolkit::builtin(), {});
    EXPECT_FALSE(quantized.simulated.source.nodes().empty());
  }
}

TEST(TfliteImport, MovesTheAxisOfScalesWithTheWeights) {
  const tflite::ModelFile file(small_quantized_network());
  const Graph integer = integer_graph(file, Numerics::kOnnxRuntime);
  const auto axis_of = [&](const std::string& name) {
    for (const ValueId value : integer.values()) {
      const TensorType& type = integer.type(value);
      if (type.point == name && type.quant) {
        return type.quant->axis;
      }
    }
    return std::optional<int>(-1);
  };
  EXPECT_EQ(axis_of("w"), 0);
  EXPECT_EQ(axis_of("dw_w"), 0);  // it was 3
}

TEST(TfliteImport, GivesTheFormsOfOurOwnIntegerGraphs) {
  const Graph integer =
      integer_graph(tflite::ModelFile(small_quantized_network()), Numerics::kOnnxRuntime);
  std::vector<std::string> ops;
  for (const NodeId id : integer.topological_order()) {
    ops.push_back(integer.node(id).op);
  }
  EXPECT_EQ(ops, (std::vector<std::string>{"Transpose", "Conv", "Requantize", "Conv",
                                           "Requantize", "Add", "AveragePool", "ReduceMean",
                                           "Gemm", "Requantize", "Softmax"}));
  EXPECT_TRUE(float_operators(integer).empty());
}

TEST(TfliteImport, MultipliesStorageValuesAsTheFileSays) {
  // (100 - 10) * (200 - 150) + 700 = 5200 steps of 0.1 * 0.01, of which 25 are one of 0.025.
  const auto bytes = one_product(per_tensor(0.1F, 10), per_tensor(0.01F, 150),
                                 per_tensor(0.025F, 3), 200, 700, per_tensor(0.001F, 0));
  EXPECT_EQ(run(bytes, Numerics::kTfliteRef, {100, 10, 0, 255}),
            (std::vector<std::int64_t>{211, 31, 11, 255}));
}

TEST(TfliteImport, KeepsActivationsThatStorageDoesNotImply) {
  // From 0 to 6 is from 100 to 160 of 0 to 255.
  const auto bytes = one_product(per_tensor(1, 10), per_tensor(1, 0), per_tensor(0.1F, 100), 1,
                                 0, per_tensor(1, 0), Activation_RELU6);
  EXPECT_EQ(run(bytes, Numerics::kTfliteRef, {0, 13, 16, 17}),
            (std::vector<std::int64_t>{100, 130, 160, 160}));
}

TEST(TfliteImport, TakesFactorsAboveOne) {
  // One step of the sum is 1.5 of the result.
  const auto bytes = one_product(per_tensor(0.5F, 0), per_tensor(0.3F, 0), per_tensor(0.1F, 0),
                                 1, 0, per_tensor(0.15F, 0));
  EXPECT_EQ(run(bytes, Numerics::kTfliteRef, {0, 1, 2, 101}),
            (std::vector<std::int64_t>{0, 2, 3, 152}));
}

TEST(TfliteImport, TakesScalesOfChannelsThatAreDead) {
  for (const float scale : {1e-35F, 1e-12F}) {
    const auto bytes = one_product(per_tensor(0.5F, 0), per_tensor(scale, 0),
                                   per_tensor(0.1F, 7), 200, 5, per_tensor(0.5F * scale, 0));
    EXPECT_EQ(run(bytes, Numerics::kTfliteRef, {0, 1, 2, 255}),
              (std::vector<std::int64_t>{7, 7, 7, 7}));
  }
}

/// Two RELU6: the first one has other parameters behind it than before it, the second one has
/// not.
std::vector<std::byte> two_rectifications() {
  TfliteBuilder file;
  const int x = file.value("x", {5}, TensorType_UINT8, per_tensor(0.1F, 20));
  const int middle = file.value("middle", {5}, TensorType_UINT8, per_tensor(0.05F, 7));
  const int y = file.value("y", {5}, TensorType_UINT8, per_tensor(0.05F, 7));
  file.op(Builtin_RELU6, {x}, {middle});
  file.op(Builtin_RELU6, {middle}, {y});
  return file.finish({x}, {y});
}

const std::vector<std::uint8_t>& to_rectify() {
  static const std::vector<std::uint8_t> values{0, 20, 30, 80, 255};
  return values;
}

TEST(TfliteImport, LetsRelu6BoundIntegersWithoutRescalingThemInTheReferenceKernels) {
  EXPECT_EQ(run(two_rectifications(), Numerics::kTfliteRef, to_rectify()),
            (std::vector<std::int64_t>{20, 20, 30, 80, 80}));
  EXPECT_EQ(run(two_rectifications(), Numerics::kTfliteBuiltin, to_rectify()),
            (std::vector<std::int64_t>{7, 7, 27, 127, 127}));
}

TEST(TfliteImport, TakesAnyByteButZeroOfAConstantAsTrue) {
  TfliteBuilder file;
  const int condition =
      file.tensor({.name = "condition",
                   .shape = {4},
                   .type = TensorType_BOOL,
                   .data = {std::byte{2}, std::byte{0}, std::byte{255}, std::byte{1}}});
  const int a = file.value("a", {4});
  const int b = file.value("b", {4});
  const int y = file.value("y", {4});
  file.op(Builtin_SELECT_V2, {condition, a, b}, {y});
  const Graph graph = tflite::import_model(tflite::ModelFile(file.finish({a, b}, {y})));
  const std::vector<Tensor> inputs{Tensor::of<float>({4}, {0.1F, 0.2F, 0.3F, 0.4F}),
                                   Tensor::of<float>({4}, {-1, -2, -3, -4})};
  EXPECT_EQ(Executable(graph).run(inputs)[0].to_float(),
            (std::vector<float>{0.1F, -2, 0.3F, 0.4F}));
}

TEST(TfliteImport, IgnoresTheAxisOfABiasAndOfParametersOfAWholeTensor) {
  FileQuantization anywhere = per_tensor(0.001F, 0);
  anywhere.dimension = 3;
  const auto bytes = one_product(per_tensor(0.1F, 10), per_tensor(0.01F, 150),
                                 {{0.025F}, {3}, 17}, 200, 700, anywhere);
  EXPECT_EQ(run(bytes, Numerics::kTfliteRef, {100, 10, 0, 255})[0], 211);
}

TEST(TfliteImport, NamesTensorsWithoutNamesAndTellsEqualNamesApart) {
  TfliteBuilder file;
  const int x = file.value("", {2});
  const int a = file.value("same", {2});
  const int b = file.value("same", {2});
  file.op(Builtin_ABS, {x}, {a});
  file.op(Builtin_NEG, {a}, {b});
  const Graph graph = tflite::import_model(tflite::ModelFile(file.finish({x}, {a, b})));
  EXPECT_EQ(graph.name(graph.inputs()[0]), "tensor_0");
  EXPECT_EQ(graph.name(graph.outputs()[0]), "same");
  EXPECT_EQ(graph.name(graph.outputs()[1]), "same_2");
}

TEST(TfliteImport, TakesOpenExtentsAsTheShapeSays) {
  TfliteBuilder file;
  const int x = file.tensor({.name = "x", .shape = {1, 3}, .signature = {-1, 3}});
  const int y = file.value("y", {1, 3});
  file.op(Builtin_EXP, {x}, {y});
  const Graph graph = tflite::import_model(tflite::ModelFile(file.finish({x}, {y})));
  EXPECT_EQ(graph.type(graph.inputs()[0]).shape, (Shape{1, 3}));
}

TEST(TfliteImport, KeepsIntegerWeightsOfHybridModels) {
  TfliteBuilder file;
  const int x = file.value("x", {1, 2});
  const int w =
      file.constant("w", Tensor::of<std::int8_t>({2, 2}, std::vector<std::int8_t>{1, 2, 3, 4}),
                    per_tensor(0.5F, 0));
  const int y = file.value("y", {1, 2});
  file.op(Builtin_FULLY_CONNECTED, {x, w}, {y}, BuiltinOptions_FullyConnectedOptions,
          [](flatbuffers::FlatBufferBuilder& to) {
            return CreateFullyConnectedOptions(to).Union();
          });
  const Graph graph = tflite::import_model(tflite::ModelFile(file.finish({x}, {y})));
  EXPECT_TRUE(is_quantized(graph));
  const Tensor input = Tensor::of<float>({1, 2}, std::vector<float>{10, 100});
  EXPECT_EQ(Executable(graph).run(std::span(&input, 1)).at(0).to_float(),
            (std::vector<float>{105, 215}));
}

TEST(TfliteImport, NamesAllUnsupportedOperatorsAndTensorsAtOnce) {
  TfliteBuilder file;
  const int x = file.value("x", {2});
  const int a = file.value("a", {2});
  const int half = file.value("half", {2}, TensorType_INT4);
  const int y = file.value("y", {2});
  file.op(Builtin_RNN, {x, half}, {a});
  file.op(Builtin_LSTM, {a}, {y});
  const std::string message = import_error(file.finish({x}, {y}), ErrorCode::kUnsupported);
  EXPECT_NE(message.find("operator 'RNN' is not supported"), std::string::npos) << message;
  EXPECT_NE(message.find("operator 'LSTM' is not supported"), std::string::npos);
  EXPECT_NE(message.find("tensor 'half': has elements of type INT4"), std::string::npos);
}

TEST(TfliteImport, SaysWhatIsWrongWithATensor) {
  TfliteBuilder file;
  const int x = file.value("x", {2});
  const int negative = file.value("negative", {2}, TensorType_INT8, per_tensor(-1, 0));
  const int beyond = file.value("beyond", {2}, TensorType_UINT8, per_tensor(1, 256));
  const int axis =
      file.value("axis", {2}, TensorType_INT8, FileQuantization{{1, 2}, {0, 0}, 1});
  const int zeros = file.value("zeros", {2}, TensorType_INT8, FileQuantization{{1}, {}, 0});
  const int small =
      file.tensor({.name = "small", .shape = {3}, .data = std::vector<std::byte>(8)});
  static_cast<void>(negative + beyond + axis + zeros + small);
  const std::string message = import_error(file.finish({x}, {x}), ErrorCode::kInvalidModel);
  for (const char* part :
       {"'negative': has scale -1", "'beyond': has zero point 256",
        "'axis': quantization axis 1 is outside", "'zeros': has 1 scales and 0 zero points",
        "'small': is a constant of 8 bytes, expected 12"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << '\n' << message;
  }
}

TEST(TfliteImport, RefusesResultsOfOtherShapesThanOperatorsCompute) {
  TfliteBuilder file;
  const int x = file.value("x", {1, 5, 5, 1});
  const int w = file.constant("w", Tensor(DType::kFloat32, {2, 3, 3, 1}));
  const int y = file.value("y", {1, 5, 5, 2});
  file.op(Builtin_CONV_2D, {x, w}, {y}, BuiltinOptions_Conv2DOptions, convolution());
  EXPECT_NE(import_error(file.finish({x}, {y}), ErrorCode::kInvalidModel)
                .find("expected what its operator computes, f32[1,2,3,3]"),
            std::string::npos);
}

TEST(TfliteImport, IgnoresOperandsThatAnOperatorDoesNotHave) {
  TfliteBuilder file;
  const int image = file.value("image", {1, 2, 2, 1});
  const int w = file.constant("w", Tensor(DType::kFloat32, {1, 1, 1, 1}));
  const int conv = file.value("conv", {1, 2, 2, 1});
  file.op(Builtin_CONV_2D, {image, w}, {conv}, BuiltinOptions_Conv2DOptions, convolution());
  const int row = file.value("row", {1, 2});
  const int y = file.value("y", {1, 2});
  file.op(Builtin_SOFTMAX, {row, conv}, {y});
  const Graph graph = tflite::import_model(tflite::ModelFile(file.finish({image, row}, {y})));
  const std::vector<Tensor> inputs{Tensor(DType::kFloat32, {1, 2, 2, 1}),
                                   Tensor(DType::kFloat32, {1, 2})};
  EXPECT_EQ(Executable(graph).run(inputs).at(0).to_float(), (std::vector<float>{0.5F, 0.5F}));
}

TEST(TfliteImport, RefusesResultsThatAnOperatorDoesNotHave) {
  TfliteBuilder file;
  const int x = file.value("x", {2});
  const int a = file.value("a", {2});
  const int b = file.value("b", {2});
  const int y = file.value("y", {2});
  file.op(Builtin_ABS, {x}, {a, b});
  file.op(Builtin_NEG, {b}, {y});
  EXPECT_EQ(import_error(file.finish({x}, {y}), ErrorCode::kInvalidModel),
            "ABS 'a': does not compute 'b', expected no such result");
}

TEST(TfliteImport, RefusesCirclesAndTensorsThatAreWrittenTwice) {
  TfliteBuilder circle;
  const int a = circle.value("a", {2});
  const int b = circle.value("b", {2});
  circle.op(Builtin_ABS, {a}, {b});
  circle.op(Builtin_NEG, {b}, {a});
  EXPECT_NE(import_error(circle.finish({}, {a}), ErrorCode::kInvalidModel)
                .find("'a': is read by ABS before anything writes it"),
            std::string::npos);
  TfliteBuilder twice;
  const int x = twice.value("x", {2});
  const int y = twice.value("y", {2});
  twice.op(Builtin_ABS, {x}, {y});
  twice.op(Builtin_NEG, {x}, {y});
  EXPECT_NE(import_error(twice.finish({x}, {y}), ErrorCode::kInvalidModel)
                .find("'y': is written by NEG"),
            std::string::npos);
}

class TfliteFile : public InFolder {};

TEST_F(TfliteFile, ThatIsNoneSaysSo) {
  write_bytes(path("m.tflite"), "none");
  EXPECT_EQ(message_of([&] { (void)read_tflite(path("m.tflite")); }, ErrorCode::kInvalidModel),
            "m.tflite: is not a TensorFlow Lite model, or is damaged or cut short");
}

TEST_F(TfliteFile, IsLoadedAsTheIntegerGraphThatItIs) {
  const auto bytes = small_moving_network();
  write_bytes(path("m.tflite"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Graph loaded = load_model(path("m.tflite"), {}, nullptr);
  const Graph direct = integer_graph(tflite::ModelFile(bytes), Numerics::kOnnxRuntime);
  EXPECT_TRUE(is_quantized(loaded));
  Tensor x(DType::kUint8, {1, 4, 4, 4});
  std::iota(x.mutable_view<std::uint8_t>().begin(), x.mutable_view<std::uint8_t>().end(),
            std::uint8_t{90});
  const Graph again = lower_quantized(loaded, {}, Toolkit::builtin());
  EXPECT_EQ(Executable(direct).run(std::span(&x, 1)), Executable(again).run(std::span(&x, 1)));
}

TEST_F(TfliteFile, IsLoadedForTheNumericsItShallRunWith) {
  const auto bytes = two_rectifications();
  write_bytes(path("m.tflite"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Tensor x = Tensor::of<std::uint8_t>({5}, std::span<const std::uint8_t>(to_rectify()));
  const auto results = [&](Numerics numerics) {
    const Graph loaded = load_model(path("m.tflite"), {}, nullptr, numerics);
    const Graph integer =
        with_numerics(lower_quantized(loaded, {}, Toolkit::builtin()), numerics);
    return Executable(integer).run(std::span(&x, 1)).at(0).to_int64();
  };
  EXPECT_EQ(results(Numerics::kTfliteRef), (std::vector<std::int64_t>{20, 20, 30, 80, 80}));
  EXPECT_EQ(results(Numerics::kTfliteBuiltin), (std::vector<std::int64_t>{7, 7, 27, 127, 127}));
}

TEST_F(TfliteFile, IsComparedByWhatTheIntegersAtItsEndsStandFor) {
  const auto write = [&](const std::string& name, tflite::schema::TensorType type,
                         std::optional<FileQuantization> x_params,
                         std::optional<FileQuantization> y_params) {
    TfliteBuilder file;
    const int x = file.value("x_of_" + name, {1, 4}, type, std::move(x_params));
    const int y = file.value("y_of_" + name, {1, 4}, type, std::move(y_params));
    file.op(Builtin_ABS, {x}, {y});
    const auto bytes = file.finish({x}, {y});
    write_bytes(path(name), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return load_model(path(name), {}, nullptr);
  };
  const Graph real = write("real.tflite", TensorType_FLOAT32, {}, {});
  const Graph quantized =
      write("quantized.tflite", TensorType_INT8, per_tensor(0.5F, 3), per_tensor(0.25F, -128));
  // Where both grids have the values and their magnitudes, nothing is lost.
  const Tensor samples =
      Tensor::of<float>({2, 4}, std::vector<float>{-3, 0, 0.5F, 7, -12.5F, 1, -1, 62});
  const Report report =
      compare_models({.real = real,
                      .quantized = quantized,
                      .factors = read_factors(path("quantized.tflite")),
                      .numerics = {}},
                     SamplesInMemory({{"x_of_real.tflite", samples}}), {}, Toolkit::builtin());
  ASSERT_EQ(report.outputs.size(), 1U);
  EXPECT_EQ(report.outputs[0].error.mse, 0);
  EXPECT_EQ(report.samples, 2U);
}

}  // namespace
}  // namespace tare::test
