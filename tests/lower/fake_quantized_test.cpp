// The cases of TVM's test_pass_fake_quantization_to_integer.py, with their shapes and
// parameters: a float graph between Dequantize and Quantize against the integer graph that
// lower() makes of it.
#include "support/random/fake_quantized.h"

#include "tare/config.h"
#include "tare/execute.h"

#include "lower/lower.h"
#include "support/graphs.h"
#include "support/params.h"

#include <functional>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Builder = FakeQuantizedBuilder;

struct Case {
  std::string name;
  int most;  ///< steps that results may be apart
  std::function<void(Builder&, DType result)> build;
};

const Shape kImage{1, 3, 224, 224};
const Attributes kWindow{{"kernel_shape", std::vector<std::int64_t>{3, 3}}};

/// A Conv of 5x5 on the image, with a bias or without.
void convolve(Builder& b, ValueId x, const QuantParams& weight, ValueId bias, DType result) {
  std::vector<ValueId> inputs{x, b.weight({16, 3, 5, 5}, weight)};
  if (bias) {
    inputs.push_back(bias);
  }
  b.result(b.op("Conv", inputs, {1, 16, 220, 220}), params(result, 1, 0));
}

std::vector<Case> products() {
  return {
      {"conv", 0,
       [](Builder& b, DType z) { convolve(b, b.input(kImage, i8(2, 0)), i8(0.5F, 0), {}, z); }},
      {"conv_per_channel", 1,
       [](Builder& b, DType z) {
         const std::vector<std::int32_t> zero(
             16, static_cast<std::int32_t>(b.random.integer(0, 254)));
         const QuantParams w = per_axis(DType::kUint8, 0, b.scales(16, 0.001F, 1), zero);
         convolve(b, b.input(kImage, i8(2, 0)), w, {}, z);
       }},
      {"transposed_conv", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, 0));
         const ValueId w = b.weight({3, 16, 5, 5}, i8(0.5F, 0));
         b.result(b.op("ConvTranspose", {x, w}, {1, 16, 228, 228}), params(z, 1, 0));
       }},
      {"dense", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input({128, 64}, i8(2, 0));
         b.result(b.op("MatMul", {x, b.weight({64, 256}, i8(0.5F, 0))}, {128, 256}),
                  params(z, 1, 0));
       }},
      {"dense_per_channel", 1,
       [](Builder& b, DType z) {
         const ValueId x = b.input({128, 64}, i8(2, 0));
         const QuantParams w = per_axis(DType::kInt8, 1, b.scales(256, 0.001F, 1),
                                        std::vector<std::int32_t>(256));
         b.result(b.op("MatMul", {x, b.weight({64, 256}, w)}, {128, 256}), params(z, 1, 0));
       }},
      {"dense_bias", 1,
       [](Builder& b, DType z) {
         const ValueId x = b.input({128, 64}, i8(2, 0));
         std::vector<float> scale = b.scales(256, 0.001F, 1);
         const ValueId w = b.weight(
             {64, 256}, per_axis(DType::kInt8, 1, scale, std::vector<std::int32_t>(256)));
         for (float& s : scale) {
           s *= 2;
         }
         const ValueId bias =
             b.weight({256}, per_axis(DType::kInt32, 0, scale, std::vector<std::int32_t>(256)));
         b.result(b.op("Gemm", {x, w, bias}, {128, 256}), params(z, 1, 0));
       }},
      {"batch_matmul", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input({1, 128, 64}, i8(2, 0));
         const ValueId y = b.input({1, 64, 256}, i8(0.5F, 0));
         b.result(b.op("MatMul", {x, y}, {1, 128, 256}), params(z, 1, 0));
       }},
      {"transpose_conv", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.op("Transpose", {b.input({1, 224, 224, 3}, i8(2, 0))}, kImage,
                                {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}});
         convolve(b, x, i8(0.5F, 0), {}, z);
       }},
      {"conv_bias", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, 0));
         convolve(b, x, i8(0.5F, 0), b.weight({16}, params(DType::kInt32, 1, 0)), z);
       }},
      {"conv_float_bias", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, 0));
         Tensor bias(DType::kFloat32, {16});
         const std::vector<float> values = b.scales(16, 0, 1);
         std::copy(values.begin(), values.end(), bias.mutable_view<float>().begin());
         convolve(b, x, i8(0.5F, 0), b.real(bias), z);
       }},
      {"conv_bias_per_channel", 1,
       [](Builder& b, DType z) {
         const std::vector<std::int32_t> zeros(16);
         std::vector<float> scale = b.scales(16, 0.45F, 0.55F);
         const ValueId x = b.input(kImage, i8(2, 0));
         const QuantParams w = per_axis(DType::kInt8, 0, scale, zeros);
         for (float& s : scale) {
           s = 2 * s + 1e-15F;
         }
         convolve(b, x, w, b.weight({16}, per_axis(DType::kInt32, 0, scale, zeros)), z);
       }},
      {"conv_bias_of_another_scale", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, 0));
         convolve(b, x, i8(0.5F, 0), b.weight({16}, params(DType::kInt32, 2, 0)), z);
       }},
  };
}

/// One operator on an i8 image at (2, 0), results at (2, 0).
Case moving(const std::string& name, const std::string& op, const Shape& shape,
            const Attributes& attributes = {}, std::vector<std::int64_t> operand = {},
            const Shape& from = kImage) {
  return {name, 0, [=](Builder& b, DType z) {
            std::vector<ValueId> inputs{b.input(from, i8(2, 0))};
            if (!operand.empty()) {
              inputs.push_back(b.indices(operand));
            }
            b.result(b.op(op, inputs, shape, attributes), params(z, 2, 0));
          }};
}

std::vector<Case> movements() {
  std::vector<Case> cases{
      moving("max_pool", "MaxPool", {1, 3, 222, 222}, kWindow),
      moving("reshape", "Reshape", {1, 3, 50176}, {}, {1, 3, 50176}),
      moving("expand_dims", "Unsqueeze", {1, 1, 3, 224, 224}, {}, {1}),
      moving("squeeze", "Squeeze", {3, 224, 224}, {}, {0}),
      moving("batch_flatten", "Flatten", {1, 150528}),
      moving("depth_to_space", "DepthToSpace", {1, 1, 896, 896},
             {{"blocksize", std::int64_t{4}}}, {}, {1, 16, 224, 224}),
      moving("abs", "Abs", kImage),
      {"strided_slice", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, 0));
         b.result(b.op("Slice",
                       {x, b.indices({0, 0, 0, 0}), b.indices({1, 1, 112, 112}),
                        b.indices({0, 1, 2, 3})},
                       {1, 1, 112, 112}),
                  params(z, 2, 0));
       }},
      {"transpose_reshape", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.op("Transpose", {b.input(kImage, i8(2, 0))}, {1, 224, 224, 3},
                                {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
         b.result(b.op("Reshape", {x, b.indices({1, -1})}, {1, 150528}), params(z, 2, 0));
       }},
      {"take", 0,
       [](Builder& b, DType) {
         const ValueId x = b.input({33, 11}, i8(2, 114));
         b.result(b.op("Gather", {x, b.indices(b.random.integers(37, 0, 32))}, {37, 11}),
                  u8(2, 114));
       }},
  };
  for (const bool in_half : {true, false}) {
    cases.push_back(
        {in_half ? "split_in_half" : "split_at_indices", 0, [=](Builder& b, DType z) {
           const std::vector<std::int64_t> sizes =
               in_half ? std::vector<std::int64_t>{112, 112}
                       : std::vector<std::int64_t>{56, 56, 56, 56};
           std::vector<NamedType> parts;
           for (const std::int64_t size : sizes) {
             parts.push_back({"part" + std::to_string(parts.size()), f32({1, 3, size, 224})});
           }
           const ValueId x = b.input(kImage, i8(2, 0));
           const NodeId id = b.graph.add_node("split", "Split", {x, b.indices(sizes)}, parts,
                                              {{"axis", std::int64_t{2}}});
           b.result(b.graph.node(id).outputs[in_half ? 0 : 1], params(z, 2, 0));
         }});
  }
  for (const char* extreme : {"ReduceMax", "ReduceMin"}) {
    cases.push_back(
        {std::string(extreme) + "_after_depth_to_space", 0, [=](Builder& b, DType z) {
           const ValueId x = b.op("DepthToSpace", {b.input({1, 16, 10, 10}, i8(2, 0))},
                                  {1, 1, 40, 40}, {{"blocksize", std::int64_t{4}}});
           b.result(
               b.op(extreme, {x}, {1, 1, 40, 40}, {{"axes", std::vector<std::int64_t>{1}}}),
               params(z, 2, 0));
         }});
  }
  for (const std::int64_t k : {1, 5}) {
    for (const std::int64_t axis : {0, 1}) {
      for (const std::int64_t largest : {0, 1}) {
        cases.push_back({"topk_" + std::to_string(k) + "_axis_" + std::to_string(axis) +
                             (largest != 0 ? "_largest" : "_smallest"),
                         0, [=](Builder& b, DType z) {
                           const ValueId x = b.input({20, 100}, params(z, 2, 0), {{0, 126}});
                           const Shape shape = axis == 0 ? Shape{k, 100} : Shape{20, k};
                           TensorType positions = f32(shape);
                           positions.dtype = DType::kInt64;
                           const NodeId id = b.graph.add_node(
                               "topk", "TopK", {x, b.indices({k})},
                               {{"values", f32(shape)}, {"positions", positions}},
                               {{"axis", axis}, {"largest", largest}});
                           b.result(b.graph.node(id).outputs[0], params(z, 2, 0));
                         }});
      }
    }
  }
  return cases;
}

std::vector<Case> roundings() {
  std::vector<Case> cases{
      {"image_resize", 1,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, 0));
         b.result(b.op("Resize", {x, {}, {}, b.indices({1, 3, 4, 4})}, {1, 3, 4, 4},
                       {{"mode", std::string("linear")}}),
                  params(z, 2, 0));
       }},
      {"adaptive_avg_pool_1d", 1,
       [](Builder& b, DType z) {
         const ValueId x = b.input({1, 128, 768}, i8(2, -12));
         b.result(b.op("GlobalAveragePool", {x}, {1, 128, 1}), params(z, 0.5F, 10));
       }},
      {"avg_pool", 1,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, -12));
         b.result(b.op("AveragePool", {x}, {1, 3, 222, 222}, kWindow), params(z, 0.5F, 10));
       }},
      {"global_avg_pool", 1,
       [](Builder& b, DType z) {
         const ValueId x = b.input(kImage, i8(2, -12));
         b.result(b.op("GlobalAveragePool", {x}, {1, 3, 1, 1}), params(z, 0.5F, 10));
       }},
      {"mean", 1,
       [](Builder& b, DType) {
         const ValueId x = b.input(kImage, u8(2, 114));
         b.result(b.op("ReduceMean", {x}, {}, {{"keepdims", std::int64_t{0}}}), u8(2, 114));
       }},
      {"leaky_relu", 1,
       [](Builder& b, DType) {
         const ValueId x = b.input(kImage, u8(2, 114));
         b.result(b.op("LeakyRelu", {x}, kImage, {{"alpha", 0.1F}}), u8(2, 114));
       }},
      {"relu", 0,
       [](Builder& b, DType) {
         b.result(b.op("Relu", {b.input(kImage, u8(2, 114))}, kImage), u8(2, 114));
       }},
      {"clip", 0,
       [](Builder& b, DType) {
         const ValueId low = b.real(Tensor::of<float>({}, {0}));
         const ValueId high = b.real(Tensor::of<float>({}, {6}));
         b.result(b.op("Clip", {b.input(kImage, u8(2, 114)), low, high}, kImage), u8(2, 114));
       }},
      {"relu_per_channel", 0,
       [](Builder& b, DType) {
         const QuantParams q = per_axis(DType::kUint8, 1, {1, 2, 3}, {96, 114, 128});
         b.result(b.op("Relu", {b.input(kImage, q)}, kImage), q);
       }},
      {"clip_per_channel", 0,
       [](Builder& b, DType) {
         const QuantParams q = per_axis(DType::kUint8, 1, {1, 2, 3}, {96, 114, 128});
         const ValueId low = b.real(Tensor::of<float>({}, {0}));
         const ValueId high = b.real(Tensor::of<float>({}, {6}));
         b.result(b.op("Clip", {b.input(kImage, q), low, high}, kImage), q);
       }},
      {"concat", 0,
       [](Builder& b, DType z) {
         std::vector<ValueId> parts;
         for (const float scale : {0.5F, 1.5F, 2.5F, 3.5F}) {
           parts.push_back(b.input({1, 4}, i8(scale, 0)));
         }
         b.result(b.op("Concat", parts, {4, 4}, {{"axis", std::int64_t{0}}}),
                  params(z, 3.5F, 0));
       }},
      {"pad", 0,
       [](Builder& b, DType z) {
         const ValueId x = b.input({1, 383, 128}, i8(1, 10));
         b.result(b.op("Pad", {x, b.indices({0, 0, 0, 0, 1, 0})}, {1, 384, 128}),
                  params(z, 1, 10));
       }},
      {"pad_with_lowest_float", 1,
       [](Builder& b, DType) {
         const ValueId x = b.input({1, 383, 128}, u8(1, 0));
         const ValueId lowest = b.real(Tensor::of<float>({}, {-3.4e38F}));
         b.result(b.op("Pad", {x, b.indices({0, 0, 0, 0, 1, 0}), lowest}, {1, 384, 128}),
                  u8(1, 0));
       }},
      {"subtract_into_another_zero_point", 1,
       [](Builder& b, DType) {
         const ValueId x = b.input({1, 128, 128, 3}, u8(0.1F, 0));
         const ValueId half = b.real(Tensor::of<float>({}, {0.5F}));
         const ValueId y = b.op("Sub", {x, half}, {1, 128, 128, 3});
         b.result(b.op("Transpose", {y}, {1, 3, 128, 128},
                       {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}}),
                  u8(0.2F, 128));
       }},
  };
  for (const char* function :
       {"Sqrt", "Rsqrt", "Exp", "Erf", "Sigmoid", "Tanh", "Log", "HardSwish"}) {
    for (const DType storage : {DType::kInt8, DType::kUint8}) {
      const std::string op(function);
      cases.push_back(
          {op + (storage == DType::kInt8 ? "_of_i8" : "_of_u8"), 1, [=](Builder& b, DType z) {
             const bool positive = op == "Sqrt" || op == "Rsqrt" || op == "Log";
             const auto low = static_cast<std::int32_t>(storage_range(storage, false).low);
             const auto zero =
                 positive ? low : low + static_cast<std::int32_t>(b.random.integer(0, 255));
             const ValueId x = b.input({1, 3, 3, 3}, params(storage, b.scale(), zero));
             const auto z_low = static_cast<std::int32_t>(storage_range(z, false).low);
             b.result(b.op(op, {x}, {1, 3, 3, 3}),
                      params(z, b.scale(),
                             z_low + static_cast<std::int32_t>(b.random.integer(0, 255))));
           }});
    }
  }
  return cases;
}

std::vector<Case> binaries() {
  std::vector<Case> cases;
  for (const char* name : {"Add", "Mul", "Sub", "Min", "Max"}) {
    const std::string op(name);
    const float result = op == "Mul" ? 20 : 0.1F;
    cases.push_back({op, 0, [=](Builder& b, DType) {
                       const ValueId x = b.input(kImage, i8(0.1F, 0), {{-25, 24}});
                       const ValueId y = b.input(kImage, i8(0.2F, 0), {{-25, 24}});
                       b.result(b.op(op, {x, y}, kImage), i8(result, 0));
                     }});
    cases.push_back({op + "_constant", 0, [=](Builder& b, DType) {
                       const ValueId x = b.input(kImage, i8(0.1F, 10), {{-25, 24}});
                       const ValueId one = b.real(Tensor::of<float>({}, {1}));
                       b.result(b.op(op, {x, one}, kImage), i8(0.1F, 10));
                     }});
    for (int config = 0; config < 7; ++config) {
      cases.push_back(
          {op + "_per_channel_" + std::to_string(config), 1, [=](Builder& b, DType) {
             // Channels of 3 or of 224, zero points of 0 or some, results likewise.
             const int axis = config < 4 ? 1 : 3;
             const int other = config == 6 && op != "Mul" ? 1 : axis;
             const auto side = [&](int at) {
               const auto extent =
                   static_cast<std::size_t>(kImage[static_cast<std::size_t>(at)]);
               return per_axis(DType::kInt8, at, b.scales(extent, 1, 5),
                               std::vector<std::int32_t>(extent, config % 2 + config / 4));
             };
             const ValueId x = b.input(kImage, side(axis), {{-25, 24}});
             const ValueId y = b.input(kImage, side(other), {{-25, 24}});
             b.result(b.op(op, {x, y}, kImage), i8(op == "Mul" ? 2 : 0.1F, config % 3));
           }});
    }
  }
  return cases;
}

class FakeQuantized : public ::testing::TestWithParam<Case> {};

TEST_P(FakeQuantized, BecomesIntegersThroughout) {
  for (const DType result : {DType::kInt8, DType::kUint8}) {
    for (std::uint32_t seed = 0; seed < 2; ++seed) {
      Builder builder(seed);
      GetParam().build(builder, result);
      const Graph& before = builder.graph;
      const Graph after = lower(before);
      for (const NodeId id : after.nodes()) {
        for (const ValueId output : after.node(id).outputs) {
          EXPECT_NE(after.type(output).dtype, DType::kFloat32) << print(after, 8);
        }
      }
      const auto expected = Executable(before).run(builder.samples)[0].to_int64();
      const auto actual = Executable(after).run(builder.samples)[0].to_int64();
      ASSERT_EQ(actual.size(), expected.size());
      std::int64_t apart = 0;
      for (std::size_t i = 0; i < actual.size(); ++i) {
        apart = std::max(apart, std::abs(actual[i] - expected[i]));
      }
      EXPECT_LE(apart, GetParam().most) << print(after, 8);
    }
  }
}

TEST(FakeQuantizedSoftmax, KeepsTheOrderOfItsOperands) {
  for (const float scale : {1.0F, 0.1F, 0.01F}) {
    Builder builder(1);
    const ValueId x = builder.input({5, 10}, i8(scale, 0));
    builder.result(builder.op("Softmax", {x}, {5, 10}), i8(1.0F / 256, -128));
    auto values = builder.samples[0].mutable_view<std::int8_t>();
    for (std::size_t row = 0; row < 5; ++row) {
      std::sort(values.begin() + static_cast<std::ptrdiff_t>(10 * row),
                values.begin() + static_cast<std::ptrdiff_t>(10 * row + 10));
    }
    const auto results = Executable(lower(builder.graph)).run(builder.samples)[0].to_int64();
    for (std::size_t row = 0; row < 5; ++row) {
      EXPECT_TRUE(std::is_sorted(results.begin() + static_cast<std::ptrdiff_t>(10 * row),
                                 results.begin() + static_cast<std::ptrdiff_t>(10 * row + 10)));
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Product, FakeQuantized, ::testing::ValuesIn(products()), case_name);
INSTANTIATE_TEST_SUITE_P(Movement, FakeQuantized, ::testing::ValuesIn(movements()), case_name);
INSTANTIATE_TEST_SUITE_P(Rounding, FakeQuantized, ::testing::ValuesIn(roundings()), case_name);
INSTANTIATE_TEST_SUITE_P(Binary, FakeQuantized, ::testing::ValuesIn(binaries()), case_name);

}  // namespace
}  // namespace tare::test
