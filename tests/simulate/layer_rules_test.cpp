
#include "tare/error.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "simulate/check_demands.h"
#include "support/files/files.h"
#include "support/files/temporary_folder.h"
#include "support/message.h"
#include "support/simulated.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const char* const kWeights =
    "const %w : f32[4,4,1,1] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n";

Graph graph_of(const std::string& body, const std::string& outputs = "%y") {
  return parse("graph \"g\" opset 17 (%x : f32[1,4,6,6]) -> (" + outputs + ") {\n" + kWeights +
               body + "\n}");
}

/// Three convolutions in a row, the first two with an activation.
Graph chain() {
  return graph_of(
      "a: %a = Conv(%x, %w) : f32[1,4,6,6]\nra: %r = Relu(%a) : f32[1,4,6,6]\n"
      "b: %b = Conv(%r, %w) : f32[1,4,6,6]\nrb: %s = Relu(%b) : f32[1,4,6,6]\n"
      "c: %y = Conv(%s, %w) : f32[1,4,6,6]");
}

SimulatedGraph simulated(const Graph& graph, const std::vector<LayerRule>& rules) {
  Config config;
  config.objective = Objective::kCoverage;
  config.activations.calibrator = {.name = "mse", .options = {}};
  config.layers = rules;
  return simulated_with(graph, config);
}

LayerRule named(const std::string& name) {
  LayerRule rule;
  rule.name = name;
  return rule;
}

LayerRule computing(const std::string& name, const std::string& calibrator) {
  LayerRule rule = named(name);
  rule.activations.calibrator = CalibratorChoice{calibrator, {}};
  return rule;
}

LayerRule reading(const std::string& name, const std::string& calibrator) {
  LayerRule rule = named(name);
  rule.inputs.calibrator = CalibratorChoice{calibrator, {}};
  return rule;
}

using Calibrators = std::map<std::string, std::string>;

/// Of activations, by the name of the point.
Calibrators calibrators(const Graph& graph, const std::vector<LayerRule>& rules) {
  const SimulatedGraph result = simulated(graph, rules);
  Calibrators found;
  for (const QuantPoint& point : result.points) {
    if (point.role == Role::kActivation) {
      found.emplace(point.name, point.calibrator.name);
    }
  }
  return found;
}

TEST(LayerRules, ActivationsGovernTheResultBehindTheFusedActivation) {
  EXPECT_EQ(calibrators(chain(), {computing("b", "max")}),
            (Calibrators{{"x", "mse"}, {"r", "mse"}, {"s", "max"}, {"y", "mse"}}));
  EXPECT_EQ(calibrators(chain(), {computing("rb", "max")}),
            (Calibrators{{"x", "mse"}, {"r", "mse"}, {"s", "max"}, {"y", "mse"}}))
      << "the activation is part of the layer";
}

TEST(LayerRules, InputsGovernWhatALayerReads) {
  EXPECT_EQ(calibrators(chain(), {reading("a", "kl"), reading("c", "max")}),
            (Calibrators{{"x", "kl"}, {"r", "mse"}, {"s", "max"}, {"y", "mse"}}));
}

TEST(LayerRules, SayNothingOfWhatAFusedActivationReads) {
  const std::vector<LayerRule> rules{reading("ra", "max")};
  const Graph graph = chain();
  EXPECT_TRUE(LayerRules::read(graph, graph.node(*graph.find_node("ra"))).empty());
  EXPECT_EQ(calibrators(graph, rules),
            (Calibrators{{"x", "mse"}, {"r", "mse"}, {"s", "mse"}, {"y", "mse"}}));
  const Graph first = graph_of("r: %y = Relu(%x) : f32[1,4,6,6]");
  EXPECT_EQ(LayerRules::read(first, first.node(*first.find_node("r"))),
            std::vector<ValueId>{first.inputs()[0]});
}

TEST(LayerRules, GovernTheResultWhereAnotherReaderKeepsTheActivationFromFusing) {
  const Graph graph = graph_of(
      "a: %a = Conv(%x, %w) : f32[1,4,6,6]\nra: %r = Relu(%a) : f32[1,4,6,6]\n"
      "b: %y = Conv(%r, %w) : f32[1,4,6,6]\nc: %z = Conv(%a, %w) : f32[1,4,6,6]",
      "%y, %z");
  const Calibrators found = calibrators(graph, {computing("a", "max")});
  EXPECT_EQ(found.at("a"), "max");
  EXPECT_EQ(found.at("r"), "mse");
}

TEST(LayerRules, ReachThroughOperatorsThatOnlyMoveElements) {
  const Graph graph = graph_of(
      "a: %a = Conv(%x, %w) : f32[1,4,6,6]\n"
      "p: %p = MaxPool(%a) {kernel_shape=[2, 2], strides=[2, 2]} : f32[1,4,3,3]\n"
      "b: %y = Conv(%p, %w) : f32[1,4,3,3]");
  for (const LayerRule& rule : {computing("a", "max"), computing("p", "max"),
                                reading("p", "max"), reading("b", "max")}) {
    EXPECT_EQ(calibrators(graph, {rule}),
              (Calibrators{{"x", "mse"}, {"a", "max"}, {"y", "mse"}}))
        << rule.name;
  }
}

TEST(LayerRules, GovernTheResultOfAllThatIsQuantizedAsOne) {
  const Graph graph = graph_of(
      "a: %a = Conv(%x, %w) : f32[1,4,6,6]\nb: %b = Conv(%a, %w) : f32[1,4,6,6]\n"
      "sum: %s = Add(%b, %a) : f32[1,4,6,6]\nr: %r = Relu(%s) : f32[1,4,6,6]\n"
      "c: %y = Conv(%r, %w) : f32[1,4,6,6]");
  for (const char* name : {"b", "sum", "r"}) {
    Config config;
    config.objective = Objective::kCoverage;
    config.layers = {computing(name, "kl")};
    // TensorRT adds the residual before it rounds.
    const SimulatedGraph result =
        simulate(graph, config, read_target("tensorrt"), Toolkit::builtin().patterns);
    ASSERT_NE(result.find("r"), nullptr);
    EXPECT_EQ(result.find("r")->calibrator.name, "kl") << name;
    EXPECT_EQ(result.find("a")->calibrator.name, "mse") << name;
  }
}

TEST(LayerRules, OfOneValueTheLaterOneWinsWhicheverSideItIsOf) {
  const LayerRule before = computing("a", "max");
  const LayerRule behind = reading("b", "kl");
  EXPECT_EQ(calibrators(chain(), {before, behind}).at("r"), "kl");
  EXPECT_EQ(calibrators(chain(), {behind, before}).at("r"), "max");
  LayerRule both = computing("*", "max");
  both.inputs.calibrator = CalibratorChoice{"kl", {}};
  EXPECT_EQ(calibrators(chain(), {both}),
            (Calibrators{{"x", "kl"}, {"r", "max"}, {"s", "max"}, {"y", "max"}}))
      << "in one rule what computes the value counts";
}

TEST(LayerRules, MergeKeyByKeyAndTheLaterOnesWin) {
  LayerRule first;
  first.op = "Conv";
  first.activations.storage = DType::kInt8;
  first.activations.calibrator = CalibratorChoice{"percentile", {}};
  first.weights.granularity = Granularity::kPerTensor;
  first.weights.bits = 4;
  LayerRule second = named("b");
  second.weights.bits = 6;
  second.activations.calibrator = CalibratorChoice{"max", {}};
  LayerRule third = named("c");
  third.keep_float = true;
  const SimulatedGraph result = simulated(
      graph_of("const %v : f32[4,4,1,1] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n"
               "a: %a = Conv(%x, %w) : f32[1,4,6,6]\nb: %b = Conv(%a, %v) : f32[1,4,6,6]\n"
               "c: %y = Conv(%b, %v) : f32[1,4,6,6]"),
      {first, second, third});
  EXPECT_EQ(result.find("w")->spec.bits, 4);
  EXPECT_EQ(result.find("v")->spec.bits, 6);
  EXPECT_EQ(result.find("v")->spec.granularity, Granularity::kPerTensor);
  EXPECT_EQ(result.find("a")->calibrator.name, "percentile");
  EXPECT_EQ(result.find("b")->calibrator.name, "max");
  EXPECT_EQ(result.find("b")->spec.storage, DType::kInt8);
  ASSERT_EQ(result.kept_float.size(), 1U);
  EXPECT_EQ(result.kept_float[0].node, "c");
}

/// A value that the key of a rule takes, other than what it is without.
std::string value_for(const ConfigKey& key) {
  if (key.path.ends_with("calibrator")) {
    return "{name: percentile, percentile: 99.5}";
  }
  if (key.values.starts_with("an integer")) {
    const std::size_t least = key.values.find('[');  // "an integer in [8,32]"
    return least == std::string::npos
               ? "4"
               : key.values.substr(least + 1, key.values.find(',') - least - 1);
  }
  return key.values.substr(0, key.values.find_first_of(", "));
}

TEST(LayerRules, EveryKeyOfARuleIsMergedAndWrittenDown) {
  const std::vector<std::string> known = Toolkit::builtin().calibrator_names();
  for (const ConfigKey& key : config_keys(known)) {
    const std::string prefix = "layers[].";
    if (!key.path.starts_with(prefix) || key.path.find("match") != std::string::npos ||
        key.path == "layers[].if_present" || key.values.starts_with("a map")) {
      continue;
    }
    const std::string path = key.path.substr(prefix.size());
    const std::size_t dot = path.find('.');
    std::string entry =
        dot == std::string::npos
            ? path + ": " + value_for(key)
            : path.substr(0, dot) + ": {" + path.substr(dot + 1) + ": " + value_for(key) + "}";
    const TemporaryFolder folder;
    const std::string file = folder / "every_key.yaml";
    write_bytes(file, "layers:\n  - {match: {name: b}, " + entry + "}\n");
    const Config config = read_config(file, {}, known);
    EXPECT_EQ(rule_keys(config.layers[0]),
              (std::vector<std::pair<std::string, std::string>>{{path, value_for(key)}}));
    EXPECT_EQ(rule_name(config, 0), "rule 1 (" + file + ":2)");

    const Graph graph = chain();
    const LayerRules rules(graph, config.layers);
    const NodeId node = *graph.find_node("b");
    EXPECT_EQ(rule_keys(rules.of(node)), rule_keys(config.layers[0])) << entry;
  }
}

/// With few bits it is `mse`, unless one is asked for.
TEST(Settings, CalibrateWeightsAsTheirBitsSay) {
  Config config;
  config.objective = Objective::kCoverage;
  const auto calibrator = [&] {
    const SimulatedGraph result = simulated_with(chain(), config);
    const auto point =
        std::find_if(result.points.begin(), result.points.end(),
                     [](const QuantPoint& each) { return each.role == Role::kWeight; });
    return point->calibrator;
  };
  EXPECT_EQ(calibrator().name, "max");
  config.weights.bits = 5;
  EXPECT_EQ(calibrator().name, "max");
  config.weights.bits = 4;
  EXPECT_EQ(calibrator().name, "mse");
  config.weights.calibrator = {.name = "max", .options = {}};
  EXPECT_EQ(calibrator().name, "max");
  config = Config();
  config.objective = Objective::kCoverage;
  config.layers.push_back(named("*"));
  config.layers[0].weights.bits = 2;
  EXPECT_EQ(calibrator().name, "mse");
}

TEST(LayerRules, DemandIntegersByKeepFloatTypesAndBits) {
  const Graph graph = chain();
  const auto demanded = [&](const LayerRule& rule) {
    const std::vector<LayerRule> rules{rule};
    return LayerRules(graph, rules).demands_integers(graph, *graph.find_node(rule.name));
  };
  LayerRule rule = named("b");
  EXPECT_FALSE(demanded(rule));
  rule.weights.calibrator = CalibratorChoice{"max", {}};
  EXPECT_FALSE(demanded(rule));
  rule.weights.bits = 4;
  EXPECT_TRUE(demanded(rule));
  rule.keep_float = true;
  EXPECT_FALSE(demanded(rule)) << "what is to stay float has no use for them";
  rule = named("rb");
  rule.weights.bits = 4;
  EXPECT_FALSE(demanded(rule)) << "it has no weights";
  rule.inputs.storage = DType::kUint8;
  EXPECT_TRUE(demanded(rule));
  rule = named("b");
  rule.keep_float = false;
  EXPECT_TRUE(demanded(rule));
}

TEST(LayerRules, KeepALayerInFloatOfWhichTheyKeepTheActivation) {
  LayerRule rule = named("rb");
  rule.keep_float = true;
  const SimulatedGraph result = simulated(chain(), {rule});
  std::vector<std::string> kept;
  for (const KeptFloat& each : result.kept_float) {
    kept.push_back(each.node);
  }
  EXPECT_TRUE(std::find(kept.begin(), kept.end(), "b") != kept.end());
}

TEST(LayerRules, ThatMatchNothingAreErrorsAllAtOnceWithWhatIsNear) {
  const Graph model = graph_of(
      "/layer1/conv1/Conv: %a = Conv(%x, %w) : f32[1,4,6,6]\n"
      "/layer1/drop: %d = Dropout(%a) : f32[1,4,6,6]\n"
      "const %k : f32[1] = [2]\n/scale: %l = Neg(%k) : f32[1]\n"
      "/layer2/Mul: %y = Mul(%d, %l) : f32[1,4,6,6]");
  const Graph prepared = prepare(model, Toolkit::builtin());
  Config config;
  LayerRule op;
  op.op = "Convv";
  LayerRule pattern;
  pattern.pattern = "Softmax(Conv)";
  LayerRule both = named("/layer1/*");
  both.op = "Gemm";
  LayerRule optional = named("/nowhere");
  optional.if_present = true;
  config.layers = {named("/layer1/conv/Conv"),
                   op,
                   named("/layr1/*"),
                   pattern,
                   both,
                   optional,
                   named("/layer1/drop"),
                   named("/scale"),
                   named("/nowhere/at/all")};
  config.layers[1].where = "c.yaml:4:5";
  EXPECT_EQ(
      message_of([&] { check_rules(model, prepared, config); }, ErrorCode::kInvalidConfig),
      "rule 1: no operator called '/layer1/conv/Conv' in the model, expected "
      "'/layer1/conv1/Conv', or 'if_present: true' where it may be missing\n"
      "rule 2 (c.yaml:4): no Convv in the model, expected 'Conv', or 'if_present: true' "
      "where it may be missing\n"
      "rule 3: no operator called '/layr1/*' in the model, expected '/layer1/*', or "
      "'if_present: true' where it may be missing\n"
      "rule 4: no operator in 'Softmax(Conv)' in the model, expected 'if_present: true' "
      "where it may be missing\n"
      "rule 5: no Gemm called '/layer1/*' in the model, expected 'if_present: true' where "
      "it may be missing\n"
      "rule 8: preparing the model computes every operator called '/scale' away, expected "
      "'if_present: true' where it may be missing\n"
      "rule 9: no operator called '/nowhere/at/all' in the model, expected 'if_present: "
      "true' where it may be missing");
}

TEST(LayerRules, ThatDemandIntegersWhereThereAreNoneAreRefusedWithTheReason) {
  const Graph graph = graph_of(
      "a: %a = Conv(%x, %w) : f32[1,4,6,6]\nn: %n = LpNormalization(%a) : f32[1,4,6,6]\n"
      "b: %y = Conv(%n, %w) : f32[1,4,6,6]");
  Config config;
  LayerRule rule = named("n");
  rule.keep_float = false;
  config.layers = {rule};
  const auto check = [&] {
    const SimulatedGraph result = simulated_with(graph, config);
    check_demands(result, config);
  };
  EXPECT_EQ(message_of(check, ErrorCode::kInvalidConfig),
            "rule 1: asks for integers, which 'n' (LpNormalization) cannot have: 'ort-cpu' has "
            "no integer kernel for it, expected other operators in 'match', or nothing that "
            "asks for integers");
  config.layers[0].name = "*";
  EXPECT_NO_THROW(check()) << "some of what it matches can";
}

TEST(LayerRules, MatchWhatPreparingMadePartOfALayer) {
  const Graph model = parse(R"(graph "g" opset 17 (%x : f32[1,2,6,6]) -> (%y) {
const %w : f32[2,2,3,3] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1]
const %s : f32[2] = [1, 2]
const %b : f32[2] = [0, 1]
const %m : f32[2] = [0, 0]
const %v : f32[2] = [1, 4]
const %pads : i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
const %zero : f32[] = [0]
pad: %p = Pad(%x, %pads) : f32[1,2,8,8]
conv: %c = Conv(%p, %w) : f32[1,2,6,6]
bn: %n = BatchNormalization(%c, %s, %b, %m, %v) : f32[1,2,6,6]
same: %i = Identity(%n) : f32[1,2,6,6]
drop: %d = Dropout(%i) : f32[1,2,6,6]
cut: %r = Max(%d, %zero) : f32[1,2,6,6]
again: %q = Relu(%r) : f32[1,2,6,6]
last: %y = Conv(%q, %w) {pads=[1, 1, 1, 1]} : f32[1,2,6,6]
})");
  const Graph prepared = prepare(model, Toolkit::builtin());
  ASSERT_FALSE(prepared.find_node("bn"));
  for (const char* name : {"pad", "conv", "bn", "same", "drop", "cut", "again"}) {
    const std::vector<LayerRule> rules{computing(name, "max")};
    EXPECT_TRUE(LayerRules(prepared, rules).matches(0)) << name;
    const SimulatedGraph result = simulated(prepared, rules);
    std::size_t with_max = 0;
    for (const QuantPoint& point : result.points) {
      with_max += point.role == Role::kActivation && point.calibrator.name == "max" ? 1U : 0U;
      if (point.calibrator.name == "max" && point.role == Role::kActivation) {
        const Node& reader = prepared.node(prepared.users(point.value).at(0));
        EXPECT_EQ(reader.name, "last") << "what 'conv' and all behind it computes; " << name;
      }
    }
    EXPECT_EQ(with_max, 1U) << name;
  }
  LayerRule by_op;
  by_op.op = "BatchNormalization";
  by_op.keep_float = true;
  const SimulatedGraph kept = simulated(prepared, {by_op});
  ASSERT_EQ(kept.kept_float.size(), 1U);
  EXPECT_EQ(kept.kept_float[0].node, "conv");
}

}  // namespace
}  // namespace tare::test
