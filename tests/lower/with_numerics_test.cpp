#include "tare/error.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "lower/lower.h"
#include "support/graphs.h"
#include "support/params.h"
#include "support/random/fake_quantized.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// op(a, b) on storage values, as TVM's tests of its qnn operators have it.
std::vector<std::int64_t> computed(const std::string& op, Numerics numerics,
                                   const std::vector<std::uint8_t>& a, const QuantParams& qa,
                                   const std::vector<std::uint8_t>& b, const QuantParams& qb,
                                   const QuantParams& qy) {
  FakeQuantizedBuilder builder(1);
  const Shape shape{static_cast<std::int64_t>(a.size())};
  const ValueId x = builder.input(shape, qa);
  const ValueId y = builder.input(shape, qb);
  builder.result(builder.op(op, {x, y}, shape), qy);
  const Graph integer = with_numerics(lower(builder.graph), numerics);
  const std::vector<Tensor> inputs{Tensor::of<std::uint8_t>(shape, a),
                                   Tensor::of<std::uint8_t>(shape, b)};
  return Executable(integer).run(inputs).at(0).to_int64();
}

using Integers = std::vector<std::int64_t>;

TEST(WithNumerics, OfTvmGivesItsPublishedSums) {
  for (const Numerics numerics : {Numerics::kTvmUpward, Numerics::kTvmToNearest}) {
    const QuantParams same = u8(0.00784314F, 127);
    const std::vector<std::uint8_t> a{140, 153, 165, 178};
    const std::vector<std::uint8_t> b{204, 178, 165, 140};
    EXPECT_EQ(computed("Add", numerics, a, same, b, same, same),
              (Integers{217, 204, 203, 191}));
    EXPECT_EQ(computed("Sub", numerics, a, same, b, same, same), (Integers{63, 102, 127, 165}));
    const QuantParams left = u8(0.0156863F, 127);
    const QuantParams right = u8(0.0117647F, 85);
    const QuantParams result = u8(0.0235294F, 128);
    const std::vector<std::uint8_t> c{76, 140, 153, 172};
    const std::vector<std::uint8_t> d{136, 119, 128, 17};
    EXPECT_EQ(computed("Add", numerics, c, left, d, right, result),
              (Integers{120, 154, 167, 124}));
    EXPECT_EQ(computed("Sub", numerics, c, left, d, right, result),
              (Integers{68, 120, 123, 192}));
  }
}

TEST(WithNumerics, OfTvmRoundsHalvesOfProductsAsItsRequantizeDoes) {
  // (a - 4) * 1 halves of a step: -1.5, -0.5, 0.5, 1.5 around the zero point 10.
  const std::vector<std::uint8_t> a{1, 3, 5, 7};
  const std::vector<std::uint8_t> ones{1, 1, 1, 1};
  const auto product = [&](Numerics numerics) {
    return computed("Mul", numerics, a, u8(0.5F, 4), ones, u8(1, 0), u8(1, 10));
  };
  EXPECT_EQ(product(Numerics::kTvmUpward), (Integers{9, 10, 11, 12}));
  EXPECT_EQ(product(Numerics::kTvmToNearest), (Integers{8, 9, 11, 12}));
  EXPECT_EQ(product(Numerics::kOnnx), (Integers{8, 10, 10, 12}));
}

TEST(WithNumerics, SeparatesTheRoundingsOfTensorFlowLite) {
  // One sum of 585 steps, times three scales: exactly 6.5 in float32.
  const auto rounded = [](Numerics numerics) {
    FakeQuantizedBuilder builder(1);
    const ValueId x = builder.input({1, 1}, i8(0.05296124517917633F, 0));
    const QuantParams weights = i8(0.024093778803944588F, 0);
    const NodeId w = builder.graph.add_node(
        "dw", "Dequantize",
        {builder.graph.add_constant(
            "w", Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{117}),
            {.dtype = DType::kInt8, .shape = {1, 1, 1, 1}, .quant = weights, .point = {}})},
        {{"dw", f32({1, 1, 1, 1})}});
    const ValueId image =
        builder.op("Reshape", {x, builder.indices({1, 1, 1, 1})}, {1, 1, 1, 1});
    builder.result(builder.op("Conv", {image, builder.graph.node(w).outputs[0]}, {1, 1, 1, 1}),
                   i8(0.11484327912330627F, 0));
    const Graph integer = with_numerics(lower(builder.graph), numerics);
    const Tensor five = Tensor::of<std::int8_t>({1, 1}, std::vector<std::int8_t>{5});
    return Executable(integer).run(std::span(&five, 1)).at(0).to_int64()[0];
  };
  EXPECT_EQ(rounded(Numerics::kTfliteRef), 7);
  EXPECT_EQ(rounded(Numerics::kTfliteBuiltin), 7);
  EXPECT_EQ(rounded(Numerics::kTfliteXnn), 6);
  EXPECT_EQ(rounded(Numerics::kOnnx), 6);
}

TEST(WithNumerics, OfOnnxTakesOutWhatWasSaidOfOthers) {
  FakeQuantizedBuilder builder(1);
  const ValueId x = builder.input({4}, u8(0.5F, 4));
  builder.result(builder.op("Sigmoid", {x}, {4}), u8(1.0F / 256, 0));
  const Graph integer = lower(builder.graph);
  const Graph theirs = with_numerics(integer, Numerics::kTfliteRef);
  EXPECT_FALSE(theirs == integer);
  EXPECT_TRUE(with_numerics(theirs, Numerics::kOnnxRuntime) == integer);
  EXPECT_TRUE(parse(print(theirs)) == theirs);
}

TEST(WithNumerics, OfTensorFlowLiteIsRefusedWhereItIsNotKnown) {
  FakeQuantizedBuilder builder(1);
  const ValueId x = builder.input({4}, u8(0.5F, 4));
  builder.result(builder.op("Erf", {x}, {4}), u8(1.0F / 128, 128));
  const Graph integer = with_numerics(lower(builder.graph), Numerics::kTfliteRef);
  try {
    Executable executable(integer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("(Erf)"), std::string::npos);
  }
}

TEST(NumericsNames, ReadBack) {
  for (const std::string& name : numerics_names()) {
    EXPECT_EQ(name_of(numerics_from_name(name)), name);
  }
  EXPECT_THROW((void)numerics_from_name("tflite"), Error);
}

}  // namespace
}  // namespace tare::test
