#include "tare/execute.h"

#include "lower/lower.h"
#include "onnx/model_builder.h"
#include "support/same_structure.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Names = std::vector<std::string>;

/// A model with an input x of bytes and the constants "s", "z" and "t", "u": two pairs of
/// parameters.
ModelBuilder with_bytes(const Dims& dims) {
  ModelBuilder model(13);
  model.input("x", dims, DType::kUint8)
      .constant("s", Tensor::scalar(0.5F))
      .constant("z", Tensor::scalar<std::uint8_t>(3))
      .constant("t", Tensor::scalar(0.25F))
      .constant("u", Tensor::scalar<std::uint8_t>(7));
  return model;
}

ModelBuilder& of_runtime(ModelBuilder& model) {
  model.last().set_domain("com.microsoft");
  return model;
}

Names constants_of(const Graph& graph, const std::string& op) {
  Names names;
  for (const ValueId input : only(graph, op).inputs) {
    if (graph.constant(input) != nullptr) {
      names.push_back(graph.name(input));
    }
  }
  return names;
}

TEST(QuantizedForms, BecomeTheOperatorBetweenConversions) {
  auto model = with_bytes({1, 4});
  model.node("QLinearSigmoid", {"x", "s", "z", "t", "u"}, {"y"}).output("y");
  const Graph graph = of_runtime(model).read();
  EXPECT_EQ(operators(graph), (Names{"DequantizeLinear", "Sigmoid", "QuantizeLinear"}));
  EXPECT_EQ(call(graph, "DequantizeLinear"), "DequantizeLinear(x,s,z)");
  EXPECT_EQ(constants_of(graph, "QuantizeLinear"), (Names{"t", "u"}));
  EXPECT_EQ(graph.type(*graph.find_value("y")).dtype, DType::kUint8);
  // The node's name is the user's handle on the operator.
  EXPECT_EQ(only(graph, "Sigmoid").name, "QLinearSigmoid_y");
}

/// y = MatMul(x, w) with x and y in u16, in the operators of `domain`.
Graph with_16_bits(int opset, const char* domain) {
  ModelBuilder model(opset);
  model.input("x", {3, 4})
      .constant("s", Tensor::scalar(0.5F))
      .constant("z", Tensor::scalar<std::uint16_t>(30'000))
      .constant("q", Tensor(DType::kInt8, {4, 2}))
      .constant("t", Tensor::scalar(0.25F))
      .constant("u", Tensor::scalar<std::int8_t>(0));
  const auto convert = [&](const char* op, const char* from, const char* to) {
    model.node(op, {from, "s", "z"}, {to});
    model.last().set_domain(domain);
  };
  convert("QuantizeLinear", "x", "xq");
  convert("DequantizeLinear", "xq", "xd");
  model.node("DequantizeLinear", {"q", "t", "u"}, {"w"}).node("MatMul", {"xd", "w"}, {"m"});
  convert("QuantizeLinear", "m", "mq");
  convert("DequantizeLinear", "mq", "y");
  return model.output("y").read();
}

TEST(QuantizedForms, Of16BitsAreTheSameOfOnnxAndOfTheRuntime) {
  const Graph integer = lower(from_qdq(with_16_bits(13, "com.microsoft")));
  EXPECT_EQ(integer, [] {
    Graph core = lower(from_qdq(with_16_bits(21, "")));
    core.opset = 13;
    return core;
  }());
  EXPECT_EQ(operators(integer), (Names{"Quantize", "MatMul", "Requantize", "Dequantize"}));
  EXPECT_EQ(integer.type(only(integer, "MatMul").outputs[0]).dtype, DType::kInt64);
  EXPECT_EQ(integer.type(only(integer, "Requantize").outputs[0]).dtype, DType::kUint16);
}

/// Adds INT4 integers, two in each byte.
void add_packed(ModelBuilder& model, const char* name, const Dims& dims,
                const std::string& bytes) {
  auto& proto = *model.graph().add_initializer();
  proto.set_name(name);
  constexpr std::int32_t kInt4 = 22;
  proto.set_data_type(kInt4);
  for (const Dim& dim : dims) {
    proto.add_dims(dim.extent);
  }
  proto.set_raw_data(bytes);
}

TEST(QuantizedForms, WeightsOfFourBitsAreThoseOfEight) {
  const auto with_weights = [](bool halves) {
    ModelBuilder model(21);
    model.input("x", {3, 3}, DType::kUint8)
        .constant("s", Tensor::scalar(0.5F))
        .constant("z", Tensor::scalar<std::uint8_t>(3))
        .constant("t", Tensor::of<float>({2}, {0.25F, 0.5F}));
    if (halves) {
      add_packed(model, "q", {3, 2}, "\x78\x1F\x2E");
      add_packed(model, "u", {2}, std::string("\0", 1));
    } else {
      model.constant("q", Tensor::of<std::int8_t>({3, 2}, {-8, 7, -1, 1, -2, 2}))
          .constant("u", Tensor(DType::kInt8, {2}));
    }
    model.node("DequantizeLinear", {"x", "s", "z"}, {"xd"})
        .node("DequantizeLinear", {"q", "t", "u"}, {"w"}, {{"axis", std::int64_t{1}}})
        .node("MatMul", {"xd", "w"}, {"y"});
    return model.output("y").read();
  };
  const Graph halves = with_weights(true);
  EXPECT_EQ(
      structural_difference(lower(from_qdq(halves)), lower(from_qdq(with_weights(false)))), "");
  EXPECT_EQ(halves.type(*halves.find_value("q")).quant->bits, 4);
  const std::vector<Tensor> x{Tensor::of<std::uint8_t>({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 255})};
  EXPECT_EQ(Executable(halves).run(x), Executable(with_weights(false)).run(x));
}

/// y = MatMul(x, w) with weights [5, 2] in blocks of `size` rows, of as many bits.
ModelBuilder with_blocks(std::int64_t size, std::int64_t blocks) {
  ModelBuilder model(21);
  model.input("x", {3, 5});
  add_packed(model, "q", {5, 2}, "\x78\x1F\x2E\x35\x41");
  add_packed(model, "z", {static_cast<int>(blocks), 2}, std::string("\x21\x0F\x30", 3));
  model.constant("s", Tensor::of<float>({blocks, 2}, {0.5F, 1, 2, 4, 8, 16}))
      .node("DequantizeLinear", {"q", "s", "z"}, {"w"},
            {{"axis", std::int64_t{0}}, {"block_size", size}})
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y");
  return model;
}

TEST(QuantizedForms, WeightsInBlocksHaveAScaleForEach) {
  const Graph file = with_blocks(2, 3).read();
  const Graph integer = lower(from_qdq(file));
  EXPECT_EQ(operators(integer), (Names{"Dequantize", "MatMul"}));
  // Halves of bytes, the lower one first.
  const std::vector<float> q{-8, 7, -1, 1, -2, 2, 5, 3, 1, 4};
  const std::vector<float> z{1, 2, -1, 0, 0, 3};
  const std::vector<float> s{0.5F, 1, 2, 4, 8, 16};
  std::vector<float> x(15);
  std::vector<float> y(6);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i) - 6;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {  // of small numbers, all exact
    for (std::size_t k = 0; k < 5; ++k) {
      const std::size_t place = k / 2 * 2 + i % 2;
      y[i] += x[i / 2 * 5 + k] * (q[k * 2 + i % 2] - z[place]) * s[place];
    }
  }
  const std::vector<Tensor> inputs{Tensor::of<float>({3, 5}, x)};
  EXPECT_EQ(Executable(file).run(inputs)[0].to_float(), y);
  EXPECT_EQ(Executable(integer).run(inputs)[0].to_float(), y);
}

TEST(QuantizedForms, BlocksHaveAScaleEachAndASize) {
  EXPECT_NE(complaint(with_blocks(3, 3)).find("has shape [3,2], expected [2,2]"),
            std::string::npos)
      << complaint(with_blocks(3, 3));
  EXPECT_NE(complaint(with_blocks(-1, 3)).find("'block_size' is -1"), std::string::npos)
      << complaint(with_blocks(-1, 3));
  ModelBuilder quantizes(21);
  quantizes.input("x", {4})
      .constant("s", Tensor::of<float>({2}, {1, 2}))
      .node("QuantizeLinear", {"x", "s"}, {"y"},
            {{"axis", std::int64_t{0}}, {"block_size", std::int64_t{2}}})
      .output("y");
  EXPECT_NE(complaint(quantizes).find("block_size"), std::string::npos) << complaint(quantizes);
}

TEST(QuantizedForms, NothingIsQuantizedToFourBitsWhileRunning) {
  ModelBuilder model(21);
  model.input("x", {4}).constant("s", Tensor::scalar(0.5F));
  add_packed(model, "z", {}, std::string("\0", 1));
  model.node("QuantizeLinear", {"x", "s", "z"}, {"y"}).output("y");
  EXPECT_EQ(complaint(model),
            "QuantizeLinear: quantizes to integers of 4 bits (node 'QuantizeLinear_y')");
}

TEST(QuantizedForms, ResultsHaveOneScale) {
  auto model = with_bytes({1, 4});
  model.input("many", {std::int64_t{1} << 40}, DType::kFloat32)
      .node("QLinearSigmoid", {"x", "s", "z", "many"}, {"y"})
      .output("y");
  EXPECT_NE(complaint(of_runtime(model)).find("scales of shape"), std::string::npos)
      << complaint(model);
}

TEST(QuantizedForms, WeightsOfConvolutionsHaveTheirScalesAlongTheResults) {
  auto model = with_bytes({1, 2, 4, 4});
  model.constant("w", Tensor(DType::kInt8, {3, 2, 1, 1}))
      .constant("ws", Tensor::of<float>({3}, {1, 2, 4}))
      .constant("wz", Tensor(DType::kInt8, {3}))
      .constant("b", Tensor(DType::kInt32, {3}))
      .node("QLinearConv", {"x", "s", "z", "w", "ws", "wz", "t", "u", "b"}, {"y"})
      .output("y");
  const Graph graph = model.read();
  const Node& conv = only(graph, "Conv");
  ASSERT_EQ(conv.inputs.size(), 3U);
  const auto dequantize = [&](std::size_t i) {
    return graph.node(*graph.producer(conv.inputs[i]));
  };
  EXPECT_EQ(dequantize(1).attributes.integer("axis"), 0);
  // A bias has one step where the products of both operands have one.
  EXPECT_EQ(*graph.constant(dequantize(2).inputs[1]), Tensor::of<float>({3}, {0.5F, 1, 2}));
}

TEST(QuantizedForms, ColumnsOfATransposedMatrixAreItsFirstAxis) {
  for (const std::int64_t turned : {0, 1}) {
    auto model = with_bytes({2, 4});
    model.constant("w", Tensor(DType::kInt8, turned != 0 ? Shape{3, 4} : Shape{4, 3}))
        .constant("ws", Tensor::of<float>({3}, {1, 2, 4}))
        .constant("wz", Tensor(DType::kInt8, {3}))
        .node("QGemm", {"x", "s", "z", "w", "ws", "wz"}, {"y"}, {{"transB", turned}})
        .output("y");
    const Graph graph = of_runtime(model).read();
    const Node& gemm = only(graph, "Gemm");
    const std::int64_t axis =
        graph.node(*graph.producer(gemm.inputs[1])).attributes.integer("axis");
    EXPECT_EQ(axis, turned != 0 ? -2 : -1);
    EXPECT_EQ(graph.type(*graph.find_value("y")).dtype, DType::kFloat32);
  }
}

TEST(QuantizedForms, ComputeWhatIntegersDo) {
  std::mt19937 random(1);
  const auto bytes = [&](const Shape& shape) {
    Tensor tensor(DType::kUint8, shape);
    for (std::uint8_t& byte : tensor.mutable_view<std::uint8_t>()) {
      byte = static_cast<std::uint8_t>(random());
    }
    return tensor;
  };
  const Tensor w = bytes({4, 3});
  const std::vector<std::int32_t> bias{-300, 0, 7000};
  for (const float alpha : {1.0F, 2.0F}) {
    auto model = with_bytes({2, 4});
    model.constant("w", w)
        .constant("b", Tensor::of<std::int32_t>({3}, bias))
        .constant("r", Tensor::scalar(512.0F))
        .node("QGemm", {"x", "s", "z", "w", "t", "u", "b", "r", "z"}, {"y"}, {{"alpha", alpha}})
        .output("y");
    const std::vector<Tensor> x{bytes({2, 4})};
    const Tensor y = Executable(of_runtime(model).read()).run(x)[0];
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        int sum = bias[column];
        for (std::size_t k = 0; k < 4; ++k) {
          sum += (x[0].view<std::uint8_t>()[row * 4 + k] - 3) *
                 (w.view<std::uint8_t>()[k * 3 + column] - 7);
        }
        // All factors are powers of two, so that floats are exact.
        const double real = alpha * 0.5 * 0.25 * sum;
        const double expected = std::clamp(std::nearbyint(real / 512) + 3, 0.0, 255.0);
        EXPECT_EQ(y.view<std::uint8_t>()[row * 3 + column], expected);
      }
    }
  }
}

TEST(QuantizedForms, ConcatHasTheParametersOfItsResultInFront) {
  auto model = with_bytes({1, 4});
  model
      .node("QLinearConcat", {"t", "u", "x", "s", "z", "x", "t", "u"}, {"y"},
            {{"axis", std::int64_t{1}}})
      .output("y");
  const Graph graph = of_runtime(model).read();
  EXPECT_EQ(constants_of(graph, "QuantizeLinear"), (Names{"t", "u"}));
  EXPECT_EQ(only(graph, "Concat").inputs.size(), 2U);
  EXPECT_EQ(graph.type(*graph.find_value("y")).shape, (Shape{1, 8}));
}

TEST(QuantizedForms, SoftmaxSaysItselfWhichOpsetItIsOf) {
  for (const std::int64_t opset : {11, 13}) {
    auto model = with_bytes({1, 4, 5});
    model
        .node("QLinearSoftmax", {"x", "s", "z", "t", "u"}, {"y"},
              {{"axis", std::int64_t{1}}, {"opset", opset}})
        .output("y");
    const Graph graph = of_runtime(model).read();
    EXPECT_EQ(only(graph, "Softmax").attributes.integer("axis"), opset == 13 ? 1 : -1);
    EXPECT_EQ(operators(graph).size(), opset == 13 ? 3U : 5U);
  }
}

TEST(QuantizedForms, WithoutAZeroPointHaveTheRaw0) {
  auto model = with_bytes({1, 4});
  model.node("QLinearSigmoid", {"x", "s", "", "t"}, {"y"}).output("y");
  const Graph graph = of_runtime(model).read();
  EXPECT_EQ(graph.type(*graph.find_value("y")).dtype, DType::kUint8);
}

TEST(QuantizedForms, ThatAreBrokenAreRefused) {
  const auto sigmoid = [](const Names& operands, const Attributes& attributes = {}) {
    auto model = with_bytes({1, 4});
    model.constant("row", Tensor::of<float>({1, 2}, {1, 2}))
        .node("QLinearSigmoid", operands, {"y"}, attributes)
        .output("y");
    return complaint(of_runtime(model));
  };
  const std::string place = "node 'QLinearSigmoid_y' (com.microsoft.QLinearSigmoid)";
  EXPECT_EQ(sigmoid({}), place + ": operand 0 is missing");
  EXPECT_EQ(sigmoid({"x"}), place + ": operand 1 is missing");
  EXPECT_EQ(sigmoid({"x", "s", "z"}), place + ": operand 3 is missing");
  EXPECT_EQ(sigmoid({"s", "s", "z", "t", "u"}),
            place + ": operand 2 'x_zero_point' is u8, expected f32");
  EXPECT_EQ(sigmoid({"x", "row", "z", "t", "u"}),
            "com.microsoft.QLinearSigmoid: scales of shape [1,2] (node 'QLinearSigmoid_y')");
  auto pool = with_bytes({1, 4, 4, 2});
  pool.node("QLinearGlobalAveragePool", {"x", "s", "z", "t", "u"}, {"y"},
            {{"channels_last", std::int64_t{1}}})
      .output("y");
  EXPECT_EQ(complaint(of_runtime(pool)),
            "com.microsoft.QLinearGlobalAveragePool: attribute 'channels_last' is 1, which is "
            "not supported (node 'QLinearGlobalAveragePool_y')");
  auto concat = with_bytes({1, 4});
  concat.node("QLinearConcat", {"t"}, {"y"}).output("y");
  EXPECT_NE(complaint(of_runtime(concat)), "");
}

}  // namespace
}  // namespace tare::test
