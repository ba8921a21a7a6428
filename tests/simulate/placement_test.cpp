#include "tare/quantize.h"
#include "tare/simulate.h"

#include "simulate/placement/assignment.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A target where a product takes `integers` ns per multiplication on integers and 1 in float,
/// and a conversion 1 ns per element.
Target target_with(double integers, double layout = 0) {
  Target target;
  target.name = "test";
  target.patterns = {"conv", "matmul", "add"};
  target.operators = {{.op = "Conv",
                       .quantized_result = true,
                       .floats = {.work = 1},
                       .integers = {.work = integers}},
                      {.op = "MatMul", .floats = {.work = 1}, .integers = {.work = integers}},
                      {.op = "Add", .quantized_result = true},
                      {.op = "Relu"},
                      {.op = "Reshape"}};
  target.conversion = {.call = 0, .element = 1, .layout = layout};
  return target;
}

std::vector<std::string> on_integers(const std::string& body, const Target& target,
                                     const Config& config = {}) {
  std::string zeros = "0";
  for (int i = 1; i < 100; ++i) {
    zeros += ", 0";
  }
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[1,10,1,10]) -> (%y) {\n"
      "const %w : f32[10,10,1,1] = [" +
      zeros + "]\nconst %v : f32[10,10] = [" + zeros + "]\n" + body + "\n}");
  const SimulatedGraph simulated = simulate(graph, config, target, Toolkit::builtin().patterns);
  std::vector<std::string> names;
  for (const Region& region : simulated.regions) {
    names.push_back(graph.node(region.match.root()).name);
  }
  return names;
}

using Names = std::vector<std::string>;
// 1000 multiplications and 100 elements each.
const std::string kTwoLayers =
    "a: %a = Conv(%x, %w) : f32[1,10,1,10]\nb: %y = Conv(%a, %w) : f32[1,10,1,10]";
const std::string kIsland =
    "a: %a = Conv(%x, %w) : f32[1,10,1,10]\n%s = LpNormalization(%a) : f32[1,10,1,10]\n"
    "b: %y = Conv(%s, %w) : f32[1,10,1,10]";

TEST(Placement, QuantizesWhereThatSavesMoreThanItsConversionsTake) {
  // Two conversions of 100 ns around 2000 ns in float.
  EXPECT_EQ(on_integers(kTwoLayers, target_with(0.89)), (Names{"a", "b"}));
  EXPECT_EQ(on_integers(kTwoLayers, target_with(0.91)), Names{});
  // Four around the same.
  EXPECT_EQ(on_integers(kIsland, target_with(0.79)), (Names{"a", "b"}));
  EXPECT_EQ(on_integers(kIsland, target_with(0.81)), Names{});
}

TEST(Placement, CountsAChangeOfLayoutForEveryReader) {
  const std::string body =
      "a: %a = MatMul(%x, %v) : f32[1,10,1,10]\nb: %b = Conv(%a, %w) : f32[1,10,1,10]\n"
      "c: %c = Conv(%a, %w) : f32[1,10,1,10]\nd: %y = Add(%b, %c) : f32[1,10,1,10]";
  // In float the product saves 300 ns, and its result is read twice where the input is read
  // once.
  const auto placed = [&](double layout) {
    Target target = target_with(0.1, layout);
    target.operators[1].integers.work = 1.3;
    return on_integers(body, target);
  };
  EXPECT_EQ(placed(2.9), (Names{"b", "c", "d"}));
  EXPECT_EQ(placed(3.1), (Names{"a", "b", "c", "d"}));
}

TEST(Placement, KeepsALayerOnIntegersThatGainsLittleInFloat) {
  Target target = target_with(0.91);
  target.least_gain = 11;  // for each of two layers, against 20 ns in all
  EXPECT_EQ(on_integers(kTwoLayers, target), (Names{"a", "b"}));
  target.least_gain = 9;
  EXPECT_EQ(on_integers(kTwoLayers, target), Names{});
}

TEST(Placement, TakesTheTimesOfLayersThatWereMeasuredBeforeThoseOfTheirOperators) {
  const std::string shape = "Conv [1,10,1,10]*[10,10,1,1] -> [1,10,1,10]";
  Target target = target_with(0.1);
  target.costs = {{.op = shape, .floats = {.work = 500}, .integers = {.work = 600}}};
  EXPECT_EQ(on_integers(kTwoLayers, target), Names{});
  target = target_with(2);
  target.costs = {{.op = shape, .floats = {.work = 500}, .integers = {.work = 300}}};
  EXPECT_EQ(on_integers(kTwoLayers, target), (Names{"a", "b"}));
  target.costs[0].op = "Conv [1,10,1,10]*[10,10,1,1] -> [1,10,1,9]";
  EXPECT_EQ(on_integers(kTwoLayers, target), Names{}) << "of another shape";
}

TEST(Placement, LeavesAProductToTheSumInFloatThatTheEngineMakesOneOfWithIt) {
  const std::string body =
      "const %shape : i64[2] = [10, 10]\n%r = Reshape(%x, %shape) : f32[10,10]\n"
      "%e = LpNormalization(%r) : f32[10,10]\na: %a = MatMul(%r, %v) : f32[10,10]\n"
      "b: %b = Add(%a, %e) : f32[10,10]\n%y = LpNormalization(%b) : f32[10,10]";
  Target target = target_with(0.1);
  target.operators[2].floats.work = 1;
  target.operators[2].integers.work = 50;
  EXPECT_EQ(on_integers(body, target), Names{"a"});
  target.rounds_float_weights = true;
  EXPECT_EQ(on_integers(body, target), Names{});
}

TEST(Placement, LetsProductsThatMayHandOverFloatsDoSo) {
  const std::string body =
      "%r = Reshape(%x, %shape) : f32[10,10]\na: %a = MatMul(%r, %v) : f32[10,10]\n"
      "%y = LpNormalization(%a) : f32[10,10]";
  const std::string shape = "const %shape : i64[2] = [10, 10]\n";
  // One conversion: that of the input.
  EXPECT_EQ(on_integers(shape + body, target_with(0.89)), Names{"a"});
  EXPECT_EQ(on_integers(shape + body, target_with(0.91)), Names{});
}

TEST(Placement, AddsOnIntegersWhereTheOperandsAreThere) {
  const std::string body =
      "a: %a = Conv(%x, %w) : f32[1,10,1,10]\nb: %b = Conv(%x, %w) : f32[1,10,1,10]\n"
      "c: %y = Add(%a, %b) : f32[1,10,1,10]";
  EXPECT_EQ(on_integers(body, target_with(0.1)), (Names{"a", "b", "c"}));
  const std::string of_floats =
      "%e = Exp(%x) : f32[1,10,1,10]\nc: %y = Add(%e, %x) : f32[1,10,1,10]";
  EXPECT_EQ(on_integers(of_floats, target_with(0.1)), Names{});
}

TEST(Placement, TakesEveryLayerForSizeAndWithoutCosts) {
  Config config;
  config.objective = Objective::kSize;
  EXPECT_EQ(on_integers(kIsland, target_with(5), config), (Names{"a", "b"}));
  Target target = target_with(5);
  target.operators.clear();
  EXPECT_EQ(on_integers(kIsland, target), (Names{"a", "b"}));
}

TEST(Placement, TakesEverythingThatCanBeForCoverage) {
  Config config;
  config.objective = Objective::kCoverage;
  const std::string body =
      "%e = Exp(%x) : f32[1,10,1,10]\n%n = LogSoftmax(%e) : f32[1,10,1,10]\n"
      "c: %y = Add(%n, %x) : f32[1,10,1,10]";
  EXPECT_EQ(on_integers(body, target_with(5), config).size(), 2U);
}

TEST(Placement, QuantizesWhatARuleAsksForWhateverItCosts) {
  const Target slow = target_with(5);
  ASSERT_EQ(on_integers(kIsland, slow), Names{});
  Config config;
  config.layers = {{.name = "a", .keep_float = false}};
  EXPECT_EQ(on_integers(kIsland, slow, config), Names{"a"});
  config.layers = {{.name = "b", .weights = {.bits = 4}}};
  EXPECT_EQ(on_integers(kIsland, slow, config), Names{"b"});
  config.layers = {{.name = "b", .activations = {.storage = DType::kInt8}}};
  EXPECT_EQ(on_integers(kIsland, slow, config), Names{"b"});
  config.layers = {{.name = "a", .inputs = {.storage = DType::kInt8}}};
  EXPECT_EQ(on_integers(kIsland, slow, config), Names{"a"});
  config.layers.push_back({.op = "Conv", .keep_float = true});
  EXPECT_EQ(on_integers(kIsland, slow, config), Names{}) << "the later one wins";
  const std::string of_floats =
      "%e = Exp(%x) : f32[1,10,1,10]\nc: %y = Add(%e, %x) : f32[1,10,1,10]";
  config.layers = {{.name = "c", .keep_float = false}};
  EXPECT_EQ(on_integers(of_floats, slow, config), Names{"c"}) << "though it gains nothing";
}

TEST(Placement, CountsTheTimeOfWhatARuleAsksFor) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[1,1,1,1]) -> (%y) {\n"
      "const %w : f32[1,1,1,1] = [1]\na: %y = Conv(%x, %w) : f32[1,1,1,1]\n}");
  Config config;
  config.layers = {{.name = "a", .keep_float = false}};
  // One multiplication of 5 ns and two conversions of 1 ns.
  const Assignment result =
      assign(graph, config, target_with(5), Toolkit::builtin().patterns, {{"w", 1e6}});
  EXPECT_NEAR(result.nanoseconds, 7, 1e-9);
  EXPECT_EQ(result.on_integers, std::set<std::string>{"a"});
  EXPECT_EQ(result.quantized, std::set<std::string>{"w"}) << "whatever its error costs";
}

TEST(Placement, LeavesInFloatWhatTheTargetsRulesDescribe) {
  Target target = target_with(0.1);
  target.keep_float = {{.pattern = "Conv(Conv)", .because = "two in a row are too many"}};
  EXPECT_EQ(on_integers(kTwoLayers, target), Names{});
  Config config;
  config.layers.push_back({.name = "a", .keep_float = false});
  EXPECT_EQ(on_integers(kTwoLayers, target, config), Names{"a"})
      << "the user has the last word";
  config.layers = {{.pattern = "Conv(@Conv)", .keep_float = true}};
  target.keep_float.clear();
  EXPECT_EQ(on_integers(kTwoLayers, target, config), Names{"a"});
}

}  // namespace
}  // namespace tare::test
