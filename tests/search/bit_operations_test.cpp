#include "search/bit_operations.h"

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr const char* kConvAndMatMul =
    "graph \"g\" opset 17 (%x : f32[1,2,4,4]) -> (%y) {\n"
    "const %wa : f32[3,2,1,1] = [1, -1, 0.5, 0.25, 2, 1]\n"
    "const %wb : f32[4,5] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2]\n"
    "%a = Conv(%x, %wa) : f32[1,3,4,4]\n"
    "%y = MatMul(%a, %wb) : f32[1,3,4,5]\n}";
constexpr double kOfConv = 2 * 3 * 16;
constexpr double kOfMatMul = 3 * 4 * 4 * 5;

double operations(const Config& config) {
  return total(bit_operations(simulate(parse(kConvAndMatMul), config, read_target("qnn"),
                                       Toolkit::builtin().patterns)));
}

TEST(BitOperationsOf, AreMultiplicationsTimesTheBitsOfBothFactors) {
  EXPECT_EQ(operations({}), 64 * (kOfConv + kOfMatMul));
  Config config;
  config.activations.bits = 4;
  LayerRule rule;
  rule.op = "Conv";
  rule.weights.bits = 2;
  config.layers = {rule};
  EXPECT_EQ(operations(config), 2 * 4 * kOfConv + 8 * 4 * kOfMatMul);
}

Config with_conv_in_float() {
  Config config;
  LayerRule rule;
  rule.op = "Conv";
  rule.keep_float = true;
  config.layers = {rule};
  return config;
}

TEST(BitOperationsOf, HaveThirtyTwoBitsForWhatIsReal) {
  EXPECT_EQ(operations(with_conv_in_float()), 32 * 32 * kOfConv + 64 * kOfMatMul);
}

TEST(BitOperationsOf, WeightsInBlocksAreThoseOfRealActivations) {
  Config config;
  config.weights.bits = 4;
  config.weights.block = 2;
  EXPECT_EQ(operations(config), 4 * 8 * kOfConv + 4 * 32 * kOfMatMul);
}

TEST(IntegerShare, CountsMultiplications) {
  EXPECT_EQ(integer_share(simulate(parse(kConvAndMatMul), with_conv_in_float(),
                                   read_target("qnn"), Toolkit::builtin().patterns)),
            kOfMatMul / (kOfConv + kOfMatMul));
}

}  // namespace
}  // namespace tare::test
