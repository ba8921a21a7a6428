#include "compare/match.h"

#include "tare/integer_graph.h"

#include "compare/compared.h"
#include "compare/layers.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(OriginalNames, TakeOffWhatQuantizersAppend) {
  EXPECT_EQ(original_names("conv_1_accumulated_dequantized_3"),
            (std::vector<std::string>{"conv_1_accumulated_dequantized_3",
                                      "conv_1_accumulated_dequantized", "conv_1_accumulated",
                                      "conv_1", "conv"}));
  EXPECT_EQ(original_names("relu_QuantizeLinear_Output"),
            (std::vector<std::string>{"relu_QuantizeLinear_Output", "relu"}));
  EXPECT_EQ(original_names("_quantized"), (std::vector<std::string>{"_quantized"}));
}

class Match : public ::testing::Test {
 protected:
  const Compared digits_{test_models()[0]};
  const Graph& prepared_ = digits_.real();
  const Graph& integer_ = digits_.result.integer;
};

/// The name of the operator of the float graph that each product and sum computes.
std::map<std::string, std::string> originals(const Graph& prepared, const Graph& integer) {
  std::map<std::string, std::string> result;
  for (const auto& [quantized, real] : match(prepared, integer).nodes) {
    result[integer.node(quantized).name] = prepared.node(real).name;
  }
  return result;
}

TEST_F(Match, FindsEveryOperatorByName) {
  const auto found = originals(prepared_, integer_);
  for (const auto& [quantized, real] : found) {
    EXPECT_EQ(layer_name(quantized), real);
  }
  // All that the float graph has, but for what saturation replaced.
  std::size_t wanted = 0;
  for (const NodeId id : prepared_.nodes()) {
    const std::string& op = prepared_.node(id).op;
    wanted += op != "Relu" && op != "Clip" ? 1U : 0U;
  }
  EXPECT_GE(found.size(), wanted);
}

TEST_F(Match, FindsTheSameByPositionWhereNamesSayNothing) {
  const auto by_name = originals(prepared_, integer_);
  Graph renamed = integer_;
  std::map<std::string, std::string> names;
  int number = 0;
  for (const ValueId value : renamed.values()) {
    if (!renamed.is_input(value)) {
      renamed.rename(value, "t" + std::to_string(++number));
    }
  }
  for (const NodeId node : renamed.nodes()) {
    const std::string before = renamed.node(node).name;
    renamed.rename(node, "n" + std::to_string(++number));
    names[renamed.node(node).name] = before;
  }
  std::map<std::string, std::string> by_position;
  for (const auto& [quantized, real] : originals(prepared_, renamed)) {
    by_position[names.at(quantized)] = real;
  }
  EXPECT_EQ(by_position, by_name);
}

TEST_F(Match, MakesALayerOfEachOperatorWithItsActivation) {
  const Comparison comparison = find_layers(prepared_, integer_);
  std::set<std::string> mains;
  for (const ComparedLayer& layer : comparison.layers) {
    EXPECT_TRUE(mains.insert(prepared_.node(layer.main).name).second);
    const std::string& op = prepared_.node(layer.main).op;
    EXPECT_TRUE(op != "Relu" && op != "Clip") << prepared_.node(layer.main).name;
    EXPECT_FALSE(layer.inputs.empty());
  }
  for (const NodeId id : prepared_.nodes()) {
    const std::string& op = prepared_.node(id).op;
    if (op == "Conv" || op == "Gemm" || op == "Add" || op == "Concat") {
      EXPECT_TRUE(mains.contains(prepared_.node(id).name)) << prepared_.node(id).name;
    }
  }
}

TEST_F(Match, NamesPointsAsTheTableDoes) {
  const Comparison comparison = find_layers(prepared_, integer_);
  std::set<std::string> found;
  for (const ComparedPoint& point : comparison.points) {
    found.insert(point.name);
    const auto decided = digits_.result.table.find(point.name);
    ASSERT_NE(decided, digits_.result.table.end()) << point.name;
    EXPECT_EQ(decided->second.params.scale, integer_.type(point.storage).quant->scale);
  }
  for (const QuantPoint& point : digits_.result.simulated.points) {
    const bool used =
        point.role == Role::kActivation && digits_.result.table.at(point.name).enabled;
    EXPECT_TRUE(!used || found.contains(point.name)) << point.name;
  }
}

}  // namespace
}  // namespace tare::test
