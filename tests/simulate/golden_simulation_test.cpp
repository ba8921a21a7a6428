// Cases of TVM's tests of simulated quantization (test_op_qnn_simulated_quantize.py,
// _dequantize.py), and the results of those of quantization.
#include "tare/execute.h"
#include "tare/simulate.h"

#include "support/params.h"

#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const Shape kShape{2, 5};

/// One graph for all data types and parameters, switched on or off when bound.
SimulatedGraph conversions() {
  SimulatedGraph simulated;
  simulated.graph = parse(R"(
    graph "g" opset 17 (%x : f32[2,5]) -> (%storage, %y) {
      %storage = SimulatedQuantize(%x) : f32[2,5] @p
      %y = SimulatedDequantize(%storage) : f32[2,5]
    })");
  return simulated;
}

std::vector<Tensor> simulated(const std::optional<QuantParams>& params, const Tensor& x) {
  PointResult result;
  result.enabled = params.has_value();
  result.params = params.value_or(QuantParams{});
  return Executable(bind(conversions(), {{"p", result}})).run(std::vector<Tensor>{x});
}

QuantParams per_row(DType storage) {
  return {.storage = storage,
          .scale = {0.5F, 0.25F},
          .zero_point = {127, 123},
          .axis = 0,
          .narrow_range = false};
}

Tensor random_values() {
  std::mt19937 random(1);
  Tensor x(DType::kFloat32, kShape);
  for (float& value : x.mutable_view<float>()) {
    value = static_cast<float>(random() % 256000) / 1000 - 128;
  }
  return x;
}

class GoldenSimulation : public ::testing::TestWithParam<QuantParams> {};

TEST_P(GoldenSimulation, IsQuantizationInFloat) {
  const Tensor x = random_values();
  const std::vector<Tensor> results = simulated(GetParam(), x);
  const Tensor storage = quantize(x, GetParam());
  EXPECT_EQ(results[0].to_double(), storage.to_double());
  EXPECT_EQ(results[1], dequantize(storage, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(OfEach, GoldenSimulation,
                         ::testing::Values(params(DType::kUint8, 0.5F, 127),
                                           params(DType::kInt8, 0.5F, 127),
                                           params(DType::kInt32, 0.5F, 127),
                                           per_row(DType::kUint8), per_row(DType::kInt8)));

TEST(GoldenSimulation, PassesValuesThroughWhileDisabled) {
  const Tensor x = random_values();
  EXPECT_EQ(simulated(std::nullopt, x), (std::vector<Tensor>{x, x}));
}

TEST(GoldenSimulation, OfBothEndsOfAStorageType) {
  const Tensor x =
      Tensor::of<float>(kShape, {-63.5F, -63, -62.5F, -62, -61.5F, 62, 62.5F, 63, 63.5F, 64});
  EXPECT_EQ(simulated(params(DType::kUint8, 0.5F, 127), x)[0].to_int64(),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 251, 252, 253, 254, 255}));
  EXPECT_EQ(simulated(params(DType::kInt8, 0.5F, -1), x)[0].to_int64(),
            (std::vector<std::int64_t>{-128, -127, -126, -125, -124, 123, 124, 125, 126, 127}));
}

TEST(GoldenSimulation, PerChannel) {
  const Tensor x =
      Tensor::of<float>(kShape, {-63.5F, -63, -62.5F, -62, -61.5F, 30, 31, 31.5F, 31.75F, 32});
  EXPECT_EQ(simulated(per_row(DType::kUint8), x)[0].to_int64(),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 243, 247, 249, 250, 251}));
}

}  // namespace
}  // namespace tare::test
