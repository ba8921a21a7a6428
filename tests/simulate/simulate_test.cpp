#include "tare/simulate.h"

#include "tare/pipeline.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

Graph parsed(const std::string& body, const std::string& outputs = "%y") {
  return parse("graph \"g\" opset 17 (%x : f32[1,4,6,6]) -> (" + outputs + ") {\n" +
               "const %w : f32[4,4,1,1] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n" +
               body + "\n}");
}

Target every_pattern() {
  Target target = read_target("ort-cpu");
  target.patterns.clear();
  for (const QuantPattern& pattern : Toolkit::builtin().patterns) {
    target.patterns.emplace_back(pattern.name);
  }
  return target;
}

SimulatedGraph simulated(const Graph& graph, const Config& config = {},
                         const Target& target = read_target("ort-cpu")) {
  return simulate(graph, config, target, Toolkit::builtin().patterns);
}

std::vector<std::string> region_names(const SimulatedGraph& graph) {
  std::vector<std::string> names;
  for (const Region& region : graph.regions) {
    names.emplace_back(region.pattern->name);
  }
  return names;
}

const char* const kConv = "%c = Conv(%x, %w) : f32[1,4,6,6]\n";

std::string reason_of(const SimulatedGraph& graph, const std::string& node) {
  for (const KeptFloat& kept : graph.kept_float) {
    if (kept.node == node) {
      return kept.reason;
    }
  }
  return "none";
}

TEST(Simulate, LeavesWhatInfiniteMasksReachInFloat) {
  Config config;
  config.objective = Objective::kCoverage;
  const std::string mask = "const %m : f32[6,6] = [" + [] {
    std::string numbers = "-inf";
    for (int i = 1; i < 36; ++i) {
      numbers += ", 0";
    }
    return numbers;
  }() + "]\n";
  const SimulatedGraph s = simulated(
      parsed(std::string(kConv) + mask +
             "add: %a = Add(%c, %m) : f32[1,4,6,6]\nneg: %n = Neg(%a) : f32[1,4,6,6]\n"
             "soft: %p = Softmax(%n) {axis=-1} : f32[1,4,6,6]\n"
             "last: %y = Conv(%p, %w) : f32[1,4,6,6]"),
      config, read_target("qnn"));
  EXPECT_EQ(reason_of(s, "add"), "'m' holds infinities");
  EXPECT_EQ(reason_of(s, "neg"), "'a' holds infinities");
  EXPECT_EQ(reason_of(s, "soft"), "'n' holds infinities");
  EXPECT_EQ(reason_of(s, "last"), "none");
  EXPECT_NE(s.find("c"), nullptr);
  EXPECT_EQ(s.find("a"), nullptr);
  EXPECT_NE(s.find("p"), nullptr);
}

TEST(Simulate, TakesInfiniteLimitsForWhatTheyAre) {
  const SimulatedGraph s = simulated(
      parsed(std::string(kConv) + "const %lo : f32[] = [-inf]\nconst %hi : f32[] = [6]\n"
                                  "clip: %y = Clip(%c, %lo, %hi) : f32[1,4,6,6]"));
  EXPECT_EQ(reason_of(s, "clip"), "none");
}

TEST(Simulate, SharesOnePointAmongReadersThatOnlyMoveElements) {
  const SimulatedGraph s = simulated(
      parsed(std::string(kConv) +
                 "%p = MaxPool(%c) {kernel_shape=[2, 2], strides=[2, 2]} : f32[1,4,3,3]\n"
                 "%y = Conv(%p, %w) : f32[1,4,3,3]\n%z = Conv(%c, %w) : f32[1,4,6,6]",
             "%y, %z"));
  EXPECT_NE(s.find("c"), nullptr);
  EXPECT_EQ(s.find("p"), nullptr) << "the pooled values have the parameters of what was pooled";
}

TEST(Simulate, PutsThePointOfAConvolutionBehindItsActivation) {
  const SimulatedGraph s =
      simulated(parsed(std::string(kConv) + "%y = Relu(%c) : f32[1,4,6,6]"));
  EXPECT_NE(s.find("y"), nullptr);
  EXPECT_EQ(s.find("c"), nullptr);
}

TEST(Simulate, AddsConstantPerChannelBiasesInTheAccumulator) {
  const SimulatedGraph s = simulated(
      parsed(std::string(kConv) +
             "const %b : f32[4,1,1] = [1, 2, 3, 4]\n%y = Add(%c, %b) : f32[1,4,6,6]"));
  EXPECT_EQ(region_names(s), std::vector<std::string>{"conv_bias_add"});
}

TEST(Simulate, LeavesTheAdditionOfOneNumberToAllChannelsAlone) {
  const SimulatedGraph s = simulated(parsed(
      std::string(kConv) + "const %b : f32[1,1,1] = [1]\n%y = Add(%c, %b) : f32[1,4,6,6]"));
  EXPECT_EQ(region_names(s).front(), "conv");
}

TEST(Simulate, JoinsAResidualToItsConvolutionWhereTheTargetAsksForIt) {
  const std::string body = std::string(kConv) + "%y = Add(%c, %x) : f32[1,4,6,6]";
  EXPECT_EQ(region_names(simulated(parsed(body), {}, every_pattern())),
            std::vector<std::string>{"conv_add"});
}

TEST(Simulate, LeavesElementwiseOperatorsOfFloatsInFloat) {
  const SimulatedGraph s =
      simulated(parsed("%e = Exp(%x) : f32[1,4,6,6]\n%y = Mul(%e, %x) : f32[1,4,6,6]"));
  EXPECT_TRUE(s.regions.empty());
  ASSERT_EQ(s.kept_float.size(), 1U);
  EXPECT_EQ(s.kept_float[0].node, "y");
  EXPECT_EQ(
      s.kept_float[0].reason,
      "what it reads or what reads it is float, so converting would cost more than it saves");
}

TEST(Simulate, SubtractsWhatComesFromIntegers) {
  const SimulatedGraph s =
      simulated(parsed(std::string(kConv) +
                       "%d = Conv(%c, %w) : f32[1,4,6,6]\n%y = Sub(%c, %d) : f32[1,4,6,6]"),
                {}, every_pattern());
  EXPECT_EQ(region_names(s), (std::vector<std::string>{"conv", "conv", "subtract"}));
}

TEST(Simulate, WritesStorageValuesAsFloatsUnderTheirPoint) {
  const SimulatedGraph s =
      simulated(parsed(std::string(kConv) + "%y = Relu(%c) : f32[1,4,6,6]"));
  int quantizers = 0;
  for (const NodeId id : s.graph.nodes()) {
    const Node& node = s.graph.node(id);
    if (node.op == "SimulatedQuantize") {
      const TensorType& type = s.graph.type(node.outputs[0]);
      EXPECT_EQ(type.dtype, DType::kFloat32);
      EXPECT_NE(s.find(type.point), nullptr);
      ++quantizers;
    }
  }
  EXPECT_EQ(quantizers, 4) << "input, weight, bias (there is none yet) and result";
}

}  // namespace
}  // namespace tare
