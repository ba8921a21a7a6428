#include "tare/execute.h"
#include "tare/graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "support/params.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct Operands {
  QuantParams a;
  QuantParams b;
  QuantParams y;
};

/// Every pair of storage values, first a, then b.
constexpr std::int64_t kPairs = 256 * 256;

std::vector<std::uint8_t> all_results(const std::string& op, const Operands& operands,
                                      Numerics numerics = Numerics::kOnnxRuntime) {
  const auto type = [](const QuantParams& quant) {
    return TensorType{.dtype = DType::kUint8, .shape = {kPairs}, .quant = quant, .point = {}};
  };
  Graph graph;
  const ValueId a = graph.add_input("a", type(operands.a));
  const ValueId b = graph.add_input("b", type(operands.b));
  Attributes attributes;
  set_numerics(attributes, numerics);
  const NodeId id = graph.add_node("", op, {a, b}, {{"y", type(operands.y)}}, attributes);
  graph.set_outputs({graph.node(id).outputs[0]});
  std::vector<std::uint8_t> left;
  std::vector<std::uint8_t> right;
  for (std::int64_t i = 0; i < kPairs; ++i) {
    left.push_back(static_cast<std::uint8_t>(i / 256));
    right.push_back(static_cast<std::uint8_t>(i % 256));
  }
  const auto results = Executable(graph).run(
      {{Tensor::of<std::uint8_t>({kPairs}, left), Tensor::of<std::uint8_t>({kPairs}, right)}});
  const auto values = results[0].view<std::uint8_t>();
  return {values.begin(), values.end()};
}

double real(std::int64_t q, const QuantParams& quant) {
  return static_cast<double>(quant.scale[0]) * static_cast<double>(q - quant.zero_point[0]);
}

class AffineArithmetic : public ::testing::TestWithParam<Operands> {};

TEST_P(AffineArithmetic, IsTheExactResultRoundedOnce) {
  const Operands& o = GetParam();
  using Case = std::pair<std::string, Numerics>;
  for (const auto& [op, numerics] :
       {Case{"Add", Numerics::kOnnxRuntime}, Case{"Mul", Numerics::kOnnxRuntime},
        Case{"Add", Numerics::kOnnx}, Case{"Mul", Numerics::kOnnx}}) {
    const std::vector<std::uint8_t> results = all_results(op, o, numerics);
    for (std::int64_t i = 0; i < kPairs; ++i) {
      const double x = real(i / 256, o.a);
      const double z = real(i % 256, o.b);
      const double exact =
          (op == "Add" ? x + z : x * z) / static_cast<double>(o.y.scale[0]) + o.y.zero_point[0];
      // Half a step, and float32 sums of a few hundred steps.
      ASSERT_NEAR(results[static_cast<std::size_t>(i)], std::clamp(exact, 0.0, 255.0), 0.5001)
          << op << " " << i / 256 << " " << i % 256;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parameters, AffineArithmetic,
                         ::testing::Values(Operands{u8(0.1F, 0), u8(0.1F, 0), u8(0.2F, 0)},
                                           Operands{u8(0.037F, 128), u8(0.011F, 7),
                                                    u8(0.05F, 130)},
                                           Operands{u8(1, 255), u8(0.003F, 0), u8(1.7F, 200)}));

// 1 + 0 and 3 + 0, and 1 * 1 and 1 * 3, in steps of 2: a half and three of them, and with the
// zero point 1.5 and 2.5.
const Operands kHalves{u8(1, 0), u8(1, 0), u8(2, 1)};

TEST(AffineArithmetic, OfOnnxRuntimeRoundsHalvesToTheEvenStorageValue) {
  const auto sums = all_results("Add", kHalves);
  EXPECT_EQ(sums[1 * 256], 2);
  EXPECT_EQ(sums[3 * 256], 2);
  const auto products = all_results("Mul", kHalves);
  EXPECT_EQ(products[1 * 256 + 1], 2);
  EXPECT_EQ(products[1 * 256 + 3], 2);
}

TEST(AffineArithmetic, OfOnnxRoundsHalvesToTheEvenNumberOfSteps) {
  const auto sums = all_results("Add", kHalves, Numerics::kOnnx);
  EXPECT_EQ(sums[1 * 256], 1);
  EXPECT_EQ(sums[3 * 256], 3);
  const auto products = all_results("Mul", kHalves, Numerics::kOnnx);
  EXPECT_EQ(products[1 * 256 + 1], 1);
  EXPECT_EQ(products[1 * 256 + 3], 3);
}

}  // namespace
}  // namespace tare::test
