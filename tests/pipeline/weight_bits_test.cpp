#include "support/config.h"
#include "support/files/digits.h"
#include "support/files/temporary_folder.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

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

/// The largest magnitude of the integers that each layer of the integer graph multiplies by.
std::map<std::string, std::int64_t> largest_weights(const QuantizeResult& result) {
  std::map<std::string, std::int64_t> largest;
  for (const NodeId id : result.integer.nodes()) {
    const Node& node = result.integer.node(id);
    if (node.op != "Conv" && node.op != "Gemm") {
      continue;
    }
    for (const std::int64_t w : result.integer.constant(node.inputs[1])->to_int64()) {
      largest[node.name] = std::max(largest[node.name], std::abs(w));
    }
  }
  return largest;
}

TEST_F(WeightBits, BoundEveryInteger) {
  for (const auto& [name, most] : largest_weights(quantized({"weights.bits=4"}))) {
    EXPECT_EQ(most, 7) << name;  // the widest value of a channel takes the last step
  }
}

TEST_F(WeightBits, AreChosenByLayer) {
  Config config;
  LayerRule rule;
  rule.op = "Gemm";
  rule.weights.bits = 3;
  config.layers = {rule};
  const QuantizeResult result =
      quantize(digits_.model, *digits_.data, config, Toolkit::builtin());
  std::size_t of_three = 0;
  for (const auto& [name, most] : largest_weights(result)) {
    EXPECT_TRUE(most == 3 || most > 32) << name << " " << most;
    of_three += most == 3 ? 1 : 0;
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
  const std::filesystem::path file = folder / "t.yaml";
  write_table(file, result);
  const QuantizeResult again = quantize(digits_.model, TableFile(file), {}, Toolkit::builtin());
  EXPECT_EQ(again.integer, result.integer);
}

}  // namespace
}  // namespace tare::test
