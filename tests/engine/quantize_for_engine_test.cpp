// Quantizing for an engine, against a program that says known times.
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/search.h"

#include "engine/fake_engine.h"
#include "support/conv_chain.h"
#include "support/files/samples_in_memory.h"
#include "support/files/temporary_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const std::string kModel = TARE_SOURCE_DIR "/data/digits.onnx";

struct Digits {
  std::unique_ptr<Dataset> data = open_dataset(TARE_SOURCE_DIR "/data/digits_calibration.h5");
  Graph model = load_model(kModel, {}, data.get());
  Config config = fast();
  TemporaryFolder cache;

  static Config fast() {
    Config config;
    config.effort = Effort::kFast;
    return config;
  }

  QuantizeResult by_costs() const {
    return quantize(model, *data, config, Toolkit::builtin(), {.samples = 8});
  }

  MeasuredQuantization for_engine(const EngineOptions& engine, double seconds = 300) const {
    const auto make = [this](const Config& chosen) {
      return quantize(model, *data, chosen, Toolkit::builtin(), {.samples = 8});
    };
    return quantize_for_engine(kModel, model, data.get(), config, Toolkit::builtin(), make,
                               {.engine = engine,
                                .seconds = seconds,  // it ends by itself
                                .cache = cache.path()});
  }
};

std::set<std::string> quantized_nodes(const QuantizeResult& result) {
  std::set<std::string> names;
  for (const Region& region : result.simulated.regions) {
    names.insert(result.simulated.source.node(region.match.root()).name);
  }
  return names;
}

TEST(QuantizeForEngine, QuantizesAllWhereThatIsFasterAndSaysHowMuch) {
  const MeasuredQuantization made = Digits().for_engine(fake_engine("fast"));
  EXPECT_FALSE(made.failure);
  ASSERT_TRUE(made.speed);
  EXPECT_GT(made.speed->ratio.value, 1);
  EXPECT_EQ(made.speed->first.median, 100'000);
  EXPECT_EQ(quantized_nodes(made.result), quantized_nodes(Digits().by_costs()));
}

TEST(QuantizeForEngine, QuantizesNothingWhereEveryConversionCosts) {
  const MeasuredQuantization made = Digits().for_engine(fake_engine("slow"));
  EXPECT_FALSE(made.failure);
  ASSERT_TRUE(made.speed);
  EXPECT_EQ(made.speed->ratio.value, 1) << "that of the float file that is written";
  EXPECT_TRUE(made.result.simulated.regions.empty());
  EXPECT_FALSE(made.kept_float.empty());
}

TEST(QuantizeForEngine, KeepsTheLayerInFloatThatMakesItSlower) {
  const Digits digits;
  const std::set<std::string> all = quantized_nodes(digits.by_costs());
  const QuantizeResult before = digits.by_costs();
  // A convolution in the middle, known by its weights.
  const Graph& graph = before.simulated.source;
  const auto region = std::find_if(
      before.simulated.regions.begin() + 1, before.simulated.regions.end(),
      [&](const Region& one) { return graph.node(one.match.root()).op == "Conv"; });
  ASSERT_NE(region, before.simulated.regions.end());
  const Node& layer = graph.node(region->match.root());
  const std::string weight = graph.name(layer.inputs[1]);
  const MeasuredQuantization made = digits.for_engine(fake_engine("slow_at=" + weight));
  EXPECT_FALSE(made.failure);
  ASSERT_TRUE(made.speed);
  EXPECT_GT(made.speed->ratio.low, 0.98);
  const std::set<std::string> quantized = quantized_nodes(made.result);
  EXPECT_FALSE(quantized.contains(layer.name));
  EXPECT_GE(quantized.size() + 2, all.size()) << "its neighbours at most go with it";
  EXPECT_TRUE(made.kept_float.contains(layer.name));
}

/// In this engine a layer in float costs more than the costs of the target say.
TEST(QuantizeForEngine, HoldsAccuracyToTheTimeThatTheEngineMeasures) {
  Digits digits;
  digits.config.slowdown = 0.1;
  const QuantizeResult by_costs = digits.by_costs();
  ASSERT_FALSE(by_costs.float_nodes.empty());
  const MeasuredQuantization made = digits.for_engine(fake_engine("fast"));
  EXPECT_TRUE(made.result.float_nodes.empty());
  EXPECT_GT(quantized_nodes(made.result).size(), quantized_nodes(by_costs).size());
}

/// With weights of two bits the results of the fastest file have less than 20 dB.
TEST(QuantizeForEngine, KeepsWhatAccuracyNeedsWhereResultsWouldBePoor) {
  Digits digits;
  digits.config.slowdown = 0.1;
  digits.config.weights.bits = 2;
  EXPECT_FALSE(digits.for_engine(fake_engine("fast")).result.float_nodes.empty());
}

/// The first layer in float would be worth a tenth of the time, of which the target allows 6 %.
TEST(QuantizeForEngine, GivesAccuracyNoMoreTimeThanTheTargetWhateverItIsWorth) {
  const ConvChain network = with_sensitive_layer();
  const SamplesInMemory data({{"x", network.x}});
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "wide.onnx").string();
  write_onnx(network.graph, file);
  std::ofstream(folder.path() / "target.yaml") << twice_as_fast("0.06");
  Config config;
  config.target = (folder.path() / "target.yaml").string();
  config.processor = "avx2";
  const auto make = [&](const Config& chosen) {
    return quantize(network.graph, data, chosen, Toolkit::builtin(), {});
  };
  EXPECT_EQ(make(config).float_nodes.size(), 1);
  const MeasuredQuantization made = quantize_for_engine(
      file, network.graph, &data, config, Toolkit::builtin(), make,
      {.engine = fake_engine("fast"), .seconds = 300, .cache = folder.path() / "cache"});
  EXPECT_FALSE(made.failure);
  EXPECT_TRUE(made.result.float_nodes.empty());
  EXPECT_EQ(quantized_nodes(made.result).size(), 10);
}

TEST(QuantizeForEngine, MeasuresAPlanAgainThatItFoundBefore) {
  const Digits digits;
  const MeasuredQuantization found =
      digits.for_engine(fake_engine("slow_at=residual1.conv2.conv.weight"));
  const MeasuredQuantization again =
      digits.for_engine(fake_engine("slow_at=residual1.conv2.conv.weight"));
  EXPECT_FALSE(found.is_known);
  EXPECT_GT(found.timed, 0);
  EXPECT_TRUE(again.is_known);
  EXPECT_EQ(again.timed, 0);
  EXPECT_EQ(print(again.result.integer), print(found.result.integer));
  EXPECT_EQ(again.kept_float, found.kept_float);
  EXPECT_EQ(again.speed->ratio.value, found.speed->ratio.value);
}

TEST(QuantizeForEngine, LooksForAPlanAgainWhereAKnownOneHasBecomeSlow) {
  const Digits digits;
  EXPECT_FALSE(digits.for_engine(fake_engine("fast")).result.simulated.regions.empty());
  const MeasuredQuantization slow = digits.for_engine(fake_engine("slow"));
  EXPECT_FALSE(slow.is_known);
  EXPECT_TRUE(slow.result.simulated.regions.empty());
}

TEST(QuantizeForEngine, KnowsPlansOfTheSameConfigurationOnly) {
  Digits digits;
  digits.for_engine(fake_engine("fast"));
  digits.config.slowdown = 0.5;
  EXPECT_FALSE(digits.for_engine(fake_engine("fast")).is_known);
}

TEST(QuantizeForEngine, LooksForAPlanAgainWhereItMayTakeLonger) {
  const Digits digits;
  digits.for_engine(fake_engine("fast"));
  EXPECT_FALSE(digits.for_engine(fake_engine("fast"), 600).is_known);
}

TEST(QuantizeForEngine, LooksForAPlanWhereTheFileOfAKnownOneIsDamaged) {
  for (const char* text : {"", "{", "[]", "null", R"({"identity": 1})"}) {
    const Digits digits;
    digits.for_engine(fake_engine("fast"));
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(digits.cache.path())) {
      if (entry.path().filename().string().starts_with("plan-")) {
        std::ofstream(entry.path()) << text;
        ++files;
      }
    }
    EXPECT_EQ(files, 1);
    EXPECT_FALSE(digits.for_engine(fake_engine("fast")).is_known) << text;
    EXPECT_TRUE(digits.for_engine(fake_engine("fast")).is_known) << "written again";
  }
}

TEST(QuantizeForEngine, LooksForAPlanWhereAKnownOneIsOfAnotherNetwork) {
  const Digits digits;
  digits.for_engine(fake_engine("fast"));
  for (const auto& entry : std::filesystem::directory_iterator(digits.cache.path())) {
    if (entry.path().filename().string().starts_with("plan-")) {
      std::ifstream file(entry.path());
      std::string text(std::istreambuf_iterator<char>(file), {});
      const std::size_t plan = text.find('{', text.find("keep_float")) + 1;
      text.insert(plan, text[plan] == '}' ? "\"nowhere\": false" : "\"nowhere\": false,");
      std::ofstream(entry.path()) << text;
    }
  }
  EXPECT_FALSE(digits.for_engine(fake_engine("fast")).is_known);
}

/// A network whose only x * Sigmoid(x) stays in float.
struct SiluNetwork {
  TemporaryFolder folder;
  std::string file = (folder.path() / "silu.onnx").string();
  Graph model = parse(R"(graph "g" opset 17 (%x : f32[N=1,4]) -> (%y) {
    const %w : f32[4,4] = [1, 2, 3, 4, -1, 2, 0.5, 1, 0.25, 1, -2, 3, 1, 1, 2, -0.5]
    %h = MatMul(%x, %w) : f32[1,4]
    %s = Sigmoid(%h) : f32[1,4]
    %y = Mul(%h, %s) : f32[1,4]
  })");
  Config config;

  SiluNetwork() {
    write_onnx(model, file);
    config.effort = Effort::kFast;
    LayerRule rule;
    rule.name = "*";
    rule.keep_float = true;
    config.layers.push_back(rule);
  }

  MeasuredQuantization for_engine(const std::string& kind) const {
    const SamplesInMemory data({{"x", Tensor::of<float>({2, 4}, {1, 2, 3, 4, -1, 0, 2, 5})}});
    const auto make = [&](const Config& chosen) {
      return quantize(model, data, chosen, Toolkit::builtin(), {});
    };
    return quantize_for_engine(
        file, model, &data, config, Toolkit::builtin(), make,
        {.engine = fake_engine(kind), .seconds = 300, .cache = folder.path() / "cache"});
  }
};

TEST(QuantizeForEngine, SpellsSiluAsItIsFasterAndRemembersIt) {
  const SiluNetwork network;
  const MeasuredQuantization found = network.for_engine("unfused=fast");
  EXPECT_FALSE(found.result.simulated.target.fuse_silu);
  EXPECT_GT(found.speed->ratio.low, 1.4) << "100 us by 70";
  const MeasuredQuantization again = network.for_engine("unfused=fast");
  EXPECT_TRUE(again.is_known);
  EXPECT_FALSE(again.result.simulated.target.fuse_silu);
  EXPECT_EQ(again.speed->ratio.value, found.speed->ratio.value);
}

TEST(QuantizeForEngine, LeavesSiluToTheEngineThatIsFasterAtIt) {
  SiluNetwork network;
  const MeasuredQuantization made = network.for_engine("unfused=slow");
  EXPECT_TRUE(made.result.simulated.target.fuse_silu);
  EXPECT_EQ(made.speed->ratio.value, 1);
  network.config.fuse_silu = false;
  EXPECT_FALSE(network.for_engine("unfused=slow").result.simulated.target.fuse_silu)
      << "what is configured is not measured";
}

TEST(Tune, SaysInTheTargetHowSiluIsSpelled) {
  const SiluNetwork network;
  const auto text = [&](const char* kind) {
    return tune(network.model, {}, Toolkit::builtin(),
                {.engine = fake_engine(kind), .seconds = 300, .cache = network.folder.path()})
        .text;
  };
  EXPECT_NE(text("unfused=fast").find("\nfuse_silu: false\n"), std::string::npos);
  EXPECT_NE(text("unfused=slow").find("\nfuse_silu: true\n"), std::string::npos);
  EXPECT_NE(text("fast").find("\nfuse_silu: true\n"), std::string::npos)
      << "where neither is faster, as the target has it";
}

class BadEngine : public testing::TestWithParam<const char*> {};

TEST_P(BadEngine, CostsNothing) {
  const auto start = std::chrono::steady_clock::now();
  const Digits digits;
  const MeasuredQuantization made = digits.for_engine(fake_engine(GetParam(), 2));
  ASSERT_TRUE(made.failure);
  EXPECT_TRUE(made.failure->where.starts_with("engine"));
  EXPECT_FALSE(made.speed);
  EXPECT_EQ(print(made.result.integer), print(digits.by_costs().integer));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(2));
}

INSTANTIATE_TEST_SUITE_P(QuantizeForEngine, BadEngine,
                         testing::Values("refuses", "crashes", "hangs", "nonsense", "few",
                                         "negative", "unnamed"));

TEST(QuantizeForEngine, LeavesThePlanToAnObjectiveOtherThanTime) {
  Digits digits;
  digits.config.objective = Objective::kCoverage;
  const MeasuredQuantization made = digits.for_engine(fake_engine("slow"));
  ASSERT_TRUE(made.speed);
  EXPECT_LT(made.speed->ratio.value, 1) << "and says that it is slower";
  EXPECT_FALSE(made.result.simulated.regions.empty());
}

}  // namespace
}  // namespace tare::test
