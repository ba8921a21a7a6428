#include "graph/arithmetic/per_axis.h"
#include "support/config.h"
#include "support/files/digits.h"
#include "support/files/temporary_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

class WeightBits : public testing::Test {
 protected:
  QuantizeResult quantized(const std::vector<std::string>& settings) const {
    const Config config = config_with(settings);
    return quantize(digits_.model, *digits_.data, config, Toolkit::builtin());
  }
  double output_error(const QuantizeResult& result) const {
    return compare_result(result, *digits_.data, Toolkit::builtin())
        .outputs.at(0)
        .error.mse.value();
  }

  const Digits digits_;
};

/// What the integer graph multiplies by, layer by layer.
struct IntegerWeights {
  Tensor integers;
  QuantParams params;

  std::int64_t largest() const {
    std::int64_t result = 0;
    for (const std::int64_t w : integers.to_int64()) {
      result = std::max(result, std::abs(w));
    }
    return result;
  }
  /// The widest of a channel, which has 0 in it.
  std::int64_t span() const {
    const std::vector<std::int64_t> values = integers.to_int64();
    std::vector<std::int64_t> low(params.scale.size());
    std::vector<std::int64_t> high(params.scale.size());
    for_each_slice(integers.shape(), params.axis,
                   [&](std::size_t channel, std::size_t first, std::size_t count) {
                     for (std::size_t i = first; i < first + count; ++i) {
                       low[channel] = std::min(low[channel], values[i]);
                       high[channel] = std::max(high[channel], values[i]);
                     }
                   });
    std::int64_t widest = 0;
    for (std::size_t channel = 0; channel < low.size(); ++channel) {
      widest = std::max(widest, high[channel] - low[channel]);
    }
    return widest;
  }
};

std::map<std::string, IntegerWeights> integer_weights(const QuantizeResult& result) {
  std::map<std::string, IntegerWeights> all;
  for (const NodeId id : result.integer.nodes()) {
    const Node& node = result.integer.node(id);
    if (node.op != "Conv" && node.op != "Gemm") {
      continue;
    }
    if (const auto& params = result.integer.type(node.inputs[1]).quant) {
      all.emplace(node.name, IntegerWeights{*result.integer.constant(node.inputs[1]), *params});
    }
  }
  return all;
}

TEST_F(WeightBits, BoundEveryInteger) {
  const auto all = integer_weights(quantized({"weights.bits=4", "weights.symmetric=true"}));
  EXPECT_FALSE(all.empty());
  for (const auto& [name, weights] : all) {
    EXPECT_EQ(weights.largest(), 7) << name;  // the widest of a channel takes the last step
  }
}

TEST_F(WeightBits, AreSixteenNeighbouringIntegersWithinABytesReach) {
  bool one_is_lopsided = false;
  for (const auto& [name, weights] : integer_weights(quantized({"weights.bits=4"}))) {
    EXPECT_EQ(weights.span(), 15) << name;
    one_is_lopsided = one_is_lopsided || weights.largest() > 8;
    for (const std::int32_t zero : weights.params.zero_point) {
      EXPECT_EQ(zero, 0) << name << ": kernels take no other for channels";
    }
  }
  EXPECT_TRUE(one_is_lopsided);
}

TEST_F(WeightBits, LieAroundZeroWhereTheyAreMultipliedAsTheyAre) {
  const TemporaryFolder folder;
  const fs::path own = folder / "npu.yaml";
  std::ofstream(own) << "extends: ort-cpu\nweight_bits: 4\n";
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"weights.bits=4", "weights.packed=true"},
        {"weights.bits=4", "target=qnn"},
        {"target=" + own.string()},
        {"weights.bits=3", "target=" + own.string()}}) {
    const auto all = integer_weights(quantized(settings));
    EXPECT_FALSE(all.empty());
    for (const auto& [name, weights] : all) {
      EXPECT_LE(weights.largest(), 7) << settings.back() << " " << name;
    }
  }
}

TEST_F(WeightBits, LoseLessWithAZeroPointOfTheirOwn) {
  // Nothing is in float for its error, which would be another layer in each.
  const double symmetric = output_error(
      quantized({"weights.bits=4", "accuracy.slowdown=0", "weights.symmetric=true"}));
  // Sixteen steps from the least to the largest weight are about a third finer than fifteen
  // around 0, and rounding errors are nearly all that is lost.
  EXPECT_LT(output_error(quantized({"weights.bits=4", "accuracy.slowdown=0"})),
            0.9 * symmetric);
}

TEST_F(WeightBits, AreWarnedOfWhereChannelsNeedZeroPointsThatNoKernelTakes) {
  const auto is_warned_of = [&](const std::vector<std::string>& settings) {
    const std::vector<Warning> warnings = quantized(settings).audit.warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const Warning& warning) {
      return warning.kind == "weight_zero_points";
    });
  };
  EXPECT_TRUE(is_warned_of({"weights.symmetric=false"}));
  EXPECT_FALSE(is_warned_of({"weights.symmetric=false", "weights.granularity=per_tensor"}));
  EXPECT_TRUE(is_warned_of({"weights.symmetric=false", "weights.bits=7"}));
  EXPECT_FALSE(is_warned_of({"weights.symmetric=false", "weights.bits=6"}));
  EXPECT_FALSE(is_warned_of({"weights.symmetric=false", "weights.bits=6", "target=qnn"}));
  EXPECT_FALSE(is_warned_of({}));
}

TEST_F(WeightBits, UpToSixHaveNoZeroPointInBytes) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"weights.symmetric=false", "weights.bits=6"},
        {"weights.symmetric=false", "weights.bits=5", "target=qnn"}}) {
    const auto all = integer_weights(quantized(settings));
    EXPECT_FALSE(all.empty());
    for (const auto& [name, weights] : all) {
      for (const std::int32_t zero : weights.params.zero_point) {
        EXPECT_EQ(zero, 0) << name;
      }
      EXPECT_LE(weights.largest(), 63) << name << ": two of them stay within 128";
    }
  }
}

TEST_F(WeightBits, AreChosenByLayer) {
  Config config;
  LayerRule rule;
  rule.op = "Gemm";
  rule.weights.bits = 3;
  config.layers = {rule};
  std::size_t of_three = 0;
  for (const auto& [name, weights] :
       integer_weights(quantize(digits_.model, *digits_.data, config, Toolkit::builtin()))) {
    EXPECT_TRUE(weights.span() == 7 || weights.span() > 64) << name << " " << weights.span();
    of_three += weights.span() == 7 ? 1 : 0;
  }
  EXPECT_EQ(of_three, 1U);
}

TEST_F(WeightBits, CostLessWhenRoundedForTheErrorOfTheirLayer) {
  const double nearest =
      output_error(quantized({"weights.bits=4", "accuracy.rounding=nearest"}));
  // Steps are 16 times as wide as with 8 bits, so rounding is nearly all that is lost.
  EXPECT_LT(output_error(quantized({"weights.bits=4"})), 0.5 * nearest);
}

TEST_F(WeightBits, AreKeptByATable) {
  const QuantizeResult result = quantized({"weights.bits=4"});
  const TemporaryFolder folder;
  const fs::path file = folder / "t.yaml";
  write_table(file, result);
  const QuantizeResult again = quantize(digits_.model, TableFile(file), {}, Toolkit::builtin());
  EXPECT_EQ(again.integer, result.integer);
}

}  // namespace
}  // namespace tare::test
