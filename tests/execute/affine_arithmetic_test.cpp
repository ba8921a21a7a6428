#include "tare/execute.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare {
namespace {

QuantParams params(float scale, std::int32_t zero) {
  QuantParams result;
  result.storage = DType::kUint8;
  result.scale = {scale};
  result.zero_point = {zero};
  return result;
}

struct Operands {
  QuantParams a;
  QuantParams b;
  QuantParams y;
};

/// Every pair of storage values, first a, then b.
constexpr std::int64_t kPairs = 256 * 256;

std::vector<std::uint8_t> all_results(const std::string& op, const Operands& operands) {
  const auto type = [](const QuantParams& quant) {
    return TensorType{.dtype = DType::kUint8, .shape = {kPairs}, .quant = quant, .point = {}};
  };
  Graph graph;
  const ValueId a = graph.add_input("a", type(operands.a));
  const ValueId b = graph.add_input("b", type(operands.b));
  const NodeId id = graph.add_node("", op, {a, b}, {{"y", type(operands.y)}});
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
  for (const std::string op : {"Add", "Mul"}) {
    const std::vector<std::uint8_t> results = all_results(op, o);
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

INSTANTIATE_TEST_SUITE_P(
    Parameters, AffineArithmetic,
    ::testing::Values(Operands{params(0.1F, 0), params(0.1F, 0), params(0.2F, 0)},
                      Operands{params(0.037F, 128), params(0.011F, 7), params(0.05F, 130)},
                      Operands{params(1, 255), params(0.003F, 0), params(1.7F, 200)}));

TEST(AffineArithmetic, RoundsHalvesToTheEvenStorageValue) {
  // 1 + 0 and 3 + 0 in steps of 2: half a step, with the zero point 1.5 and 2.5.
  const auto sums = all_results("Add", {params(1, 0), params(1, 0), params(2, 1)});
  EXPECT_EQ(sums[1 * 256], 2);
  EXPECT_EQ(sums[3 * 256], 2);
  const auto products = all_results("Mul", {params(1, 0), params(1, 0), params(2, 1)});
  EXPECT_EQ(products[1 * 256 + 1], 2);
  EXPECT_EQ(products[1 * 256 + 3], 2);
}

}  // namespace
}  // namespace tare
