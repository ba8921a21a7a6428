#include "tare/simulate.h"

#include "simulate/placement/region_costs.h"
#include "simulate/settings.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Target with_costs(std::vector<TargetOperator> costs) {
  Target target;
  target.name = "test";
  target.operators = {{.op = "Conv", .floats = {.work = 1e6}, .integers = {.work = 1e6}}};
  target.processors = {{.name = "avx2", .costs = std::move(costs)}};
  target.processor = "avx2";
  return target;
}

/// A constant of zeros.
std::string zeros(const std::string& name, const Shape& shape) {
  std::string extents;
  for (const std::int64_t extent : shape) {
    extents += (extents.empty() ? "" : ",") + std::to_string(extent);
  }
  std::string text = "const %" + name + " : f32[" + extents + "] = [0";
  for (std::int64_t i = 1; i < element_count(shape); ++i) {
    text += ", 0";
  }
  return text + "]\n";
}

/// What the last operator of the body costs.
Cost cost_of(const Target& target, const std::string& body) {
  const Graph graph =
      parse("graph \"g\" opset 17 (%x : f32[1,16,4,4]) -> (%y) {\n" +
            zeros("w", {2, 16, 3, 3}) + zeros("d", {16, 1, 3, 3}) + body + "\n}");
  const Settings settings(graph, Config(), target);
  return RegionCosts(graph, settings).of(*graph.producer(graph.outputs()[0]));
}

TEST(ProcessorCosts, StandInPlaceOfThoseOfTheOperators) {
  const Cost cost =
      cost_of(with_costs({{.op = "Conv", .floats = {.call = 7}, .integers = {.call = 5}}}),
              "%y = Conv(%x, %w) : f32[1,2,2,2]");
  EXPECT_EQ(cost.floats, 7);
  EXPECT_EQ(cost.integers, 5);
}

TEST(ProcessorCosts, CountWhatAConvolutionReadsAndComputes) {
  const auto integers = [](KernelCost cost) {
    return cost_of(with_costs({{.op = "Conv", .integers = cost}}),
                   "%y = Conv(%x, %w) : f32[1,2,2,2]")
        .integers;
  };
  EXPECT_EQ(integers({.call = 1}), 1);
  EXPECT_EQ(integers({.work = 1}), 2 * 2 * 2 * 16 * 9);
  EXPECT_EQ(integers({.result = 1}), 2 * 2 * 2);
  EXPECT_EQ(integers({.weight = 1}), 2 * 16 * 9);
  EXPECT_EQ(integers({.window = 1}), 2 * 2 * 9);
  EXPECT_EQ(integers({.gathered = 1}), 2 * 2 * 9 * 16);
}

TEST(ProcessorCosts, CountWhatAConvolutionInFloatReads) {
  EXPECT_EQ(cost_of(with_costs({{.op = "Conv", .floats = {.gathered = 1}}}),
                    "%y = Conv(%x, %w) : f32[1,2,2,2]")
                .floats,
            2 * 2 * 9 * 16);
}

TEST(ProcessorCosts, GatherNothingForDepthwiseConvolutions) {
  EXPECT_EQ(cost_of(with_costs({{.op = "Conv", .integers = {.window = 1, .gathered = 1000}}}),
                    "%y = Conv(%x, %d) {group = 16} : f32[1,16,2,2]")
                .integers,
            2 * 2 * 9);
}

/// Which overlap where the stride is smaller than the window.
TEST(ProcessorCosts, CountWhatAPoolReadsAndComputes) {
  const auto integers = [](KernelCost cost) {
    return cost_of(with_costs({{.op = "AveragePool", .integers = cost}}),
                   "%y = AveragePool(%x) {kernel_shape = [3,3], strides = [1,1]} : "
                   "f32[1,16,2,2]")
        .integers;
  };
  EXPECT_EQ(integers({.work = 1}), 16 * 4 * 4);
  EXPECT_EQ(integers({.result = 1}), 16 * 2 * 2);
  EXPECT_EQ(integers({.gathered = 1}), 16 * 2 * 2 * 9);
}

TEST(ProcessorCosts, CountElementsOfOtherOperators) {
  const auto floats = [](const std::string& op, const std::string& body) {
    return cost_of(with_costs({{.op = op, .floats = {.call = 100, .work = 1}}}), body).floats;
  };
  EXPECT_EQ(floats("Elu", "%y = Elu(%x) : f32[1,16,4,4]"), 100 + 256);
  // What is read, where that is more.
  EXPECT_EQ(floats("MaxPool", "%y = MaxPool(%x) {kernel_shape = [4,4]} : f32[1,16,1,1]"),
            100 + 256);
  EXPECT_EQ(floats("*", "%y = Elu(%x) : f32[1,16,4,4]"), 100 + 256);
}

TEST(ProcessorCosts, AreNothingForActivationsThatAProductTakesAlong) {
  const Target target = with_costs({{.op = "*", .floats = {.work = 1}}});
  EXPECT_EQ(
      cost_of(target, "%c = Conv(%x, %w) : f32[1,2,2,2]\n%y = Relu(%c) : f32[1,2,2,2]").floats,
      0);
  EXPECT_EQ(cost_of(target, "%y = Relu(%x) : f32[1,16,4,4]").floats, 256);
}

TEST(ProcessorCosts, TellKindsOfConvolutionsApart) {
  const Target target = with_costs({
      {.op = "Conv", .only = NodeKind::kOddDepthwise, .floats = {.call = 7}},
      {.op = "Conv", .only = NodeKind::kRaggedDepthwise, .floats = {.call = 1}},
      {.op = "Conv", .only = NodeKind::kDepthwise, .floats = {.call = 2}},
      {.op = "Conv", .only = NodeKind::kSequence, .floats = {.call = 3}},
      {.op = "Conv", .only = NodeKind::kVolume, .floats = {.call = 5}},
      {.op = "Conv", .only = NodeKind::kGrouped, .floats = {.call = 6}},
      {.op = "Conv", .floats = {.call = 4}},
  });
  const auto cost = [&](std::int64_t channels, std::int64_t groups, std::size_t axes) {
    std::string operand = std::to_string(channels);
    std::string result = operand;
    Shape weights{channels, channels / groups};
    for (std::size_t i = 0; i < axes; ++i) {
      operand += ",5";
      result += ",3";
      weights.push_back(3);
    }
    const Graph graph =
        parse("graph \"g\" opset 17 (%x : f32[1," + operand + "]) -> (%y) {\n" +
              zeros("w", weights) + "%y = Conv(%x, %w) {group = " + std::to_string(groups) +
              "} : f32[1," + result + "]\n}");
    const Settings settings(graph, Config(), target);
    return RegionCosts(graph, settings).of(graph.nodes()[0]).floats;
  };
  EXPECT_EQ(cost(24, 24, 2), 1);
  EXPECT_EQ(cost(26, 26, 2), 7);
  EXPECT_EQ(cost(16, 16, 1), 7);
  EXPECT_EQ(cost(32, 32, 2), 2);
  EXPECT_EQ(cost(16, 1, 1), 3);
  EXPECT_EQ(cost(16, 1, 2), 4);
  EXPECT_EQ(cost(16, 1, 3), 5);
  EXPECT_EQ(cost(16, 2, 2), 6);
}

}  // namespace
}  // namespace tare::test
