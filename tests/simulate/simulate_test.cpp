#include "tare/simulate.h"

#include "tare/error.h"
#include "tare/quantize.h"

#include <gtest/gtest.h>

namespace tare::test {
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
  EXPECT_EQ(s.kept_float[0].reason,
            "its neighbours are float, so conversions would cost more than it saves");
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

/// The built-in patterns, of which "conv" ends with that error once it has used its points,
/// where the convolution has that name.
std::vector<QuantPattern> that_refuse(const std::string& node, const Error& error) {
  const auto all = Toolkit::builtin().patterns;
  std::vector<QuantPattern> result(all.begin(), all.end());
  for (QuantPattern& pattern : result) {
    if (pattern.name == "conv") {
      pattern.simulate = [own = pattern.simulate, node, error](AffineBuilder& builder,
                                                               const Match& match) {
        const ValueId value = own(builder, match);
        if (builder.graph().node(match.root()).name == node) {
          throw error;
        }
        return value;
      };
    }
  }
  return result;
}

TEST(Simulate, LeavesNoPointOfAnOperatorThatItsPatternRefuses) {
  const Graph graph =
      parsed(std::string(kConv) +
                 "const %v : f32[4,4,1,1] = [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n"
                 "const %b : f32[4] = [1, 2, 3, 4]\n"
                 "%d = Conv(%x, %v, %b) : f32[1,4,6,6]\n%y = Conv(%x, %w, %b) : f32[1,4,6,6]",
             "%c, %d, %y");
  Config coverage;
  coverage.objective = Objective::kCoverage;
  const Error refusal(ErrorCode::kUnsupported, "", "is odd");
  const auto with = [&](const std::vector<QuantPattern>& all) {
    return simulate(graph, coverage, read_target("ort-cpu"), all);
  };
  const std::vector<QuantPattern> patterns = that_refuse("y", refusal);
  const SimulatedGraph s = with(patterns);
  EXPECT_EQ(region_names(s).size(), 2U);
  ASSERT_EQ(s.kept_float.size(), 1U);
  EXPECT_EQ(s.kept_float[0].node, "y");
  EXPECT_NE(s.kept_float[0].reason.find("is odd"), std::string::npos);
  ASSERT_NE(s.find("x*w"), nullptr);
  EXPECT_TRUE(s.find("x*w")->biases.empty()) << "those of 'y' shared the accumulator of 'c'";
  const SimulatedGraph first = with(that_refuse("c", refusal));
  EXPECT_EQ(first.find("c"), nullptr);
  ASSERT_NE(first.find("x*w"), nullptr) << "'y' multiplies by it, too";
  EXPECT_EQ(first.find("x*w")->biases.size(), 1U);
  EXPECT_EQ(with(that_refuse("d", refusal)).find("v"), nullptr);
}

TEST(Simulate, TakesNoFaultOfOursForAReason) {
  const Error bug(ErrorCode::kInternal, "", "a check failed");
  EXPECT_THROW((void)simulate(parsed(std::string(kConv) + "%y = Relu(%c) : f32[1,4,6,6]"), {},
                              read_target("ort-cpu"), that_refuse("c", bug)),
               Error);
}

TEST(QuantPoints, AreFoundByNameAndByTheirFactors) {
  QuantPoints points;
  const auto add = [&](const std::string& name, Role role = Role::kActivation) {
    QuantPoint point;
    point.name = name;
    point.role = role;
    point.input = "x";
    point.weight = "w";
    return points.add(std::move(point));
  };
  const PointId x = add("x");
  const PointId w = add("w", Role::kWeight);
  const PointId sum = add("x*w", Role::kAccumulator);
  EXPECT_EQ(points.find("w"), w);
  EXPECT_EQ(points.find("v"), std::nullopt);
  EXPECT_EQ(points.accumulator(x, w), sum);
  EXPECT_EQ(points.accumulator(w, x), std::nullopt);
  EXPECT_THROW(add("w"), Error) << "names are keys of tables";
  points.shrink(2);
  EXPECT_EQ(points.size(), 2U);
  EXPECT_EQ(points.find("x*w"), std::nullopt);
  EXPECT_EQ(points.accumulator(x, w), std::nullopt);
  EXPECT_EQ(points[x].name, "x");
}

TEST(Simulate, TellsAnAccumulatorFromAValueOfTheNameThatItWouldHave) {
  Config coverage;
  coverage.objective = Objective::kCoverage;
  const SimulatedGraph s =
      simulated(parsed("%\"x*w\" = Relu(%x) : f32[1,4,6,6]\n%c = Conv(%x, %w) : f32[1,4,6,6]\n"
                       "%y = Add(%\"x*w\", %c) : f32[1,4,6,6]"),
                coverage);
  ASSERT_NE(s.find("x*w"), nullptr);
  EXPECT_EQ(s.find("x*w")->role, Role::kActivation);
  ASSERT_NE(s.find("x*w'"), nullptr);
  EXPECT_EQ(s.find("x*w'")->role, Role::kAccumulator);
}

}  // namespace
}  // namespace tare::test
