#include "tare/error.h"
#include "tare/pipeline.h"

#include "calibrate/samples_in_memory.h"
#include "models.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

class Objectives : public ::testing::TestWithParam<TestModel> {
 protected:
  QuantizeResult quantized(const std::string& objective) const {
    const auto data = open_dataset(GetParam().calibration);
    const Toolkit& toolkit = Toolkit::builtin();
    const Config config = read_config({}, {"objective=" + objective, "accuracy.effort=fast"},
                                      toolkit.calibrator_names());
    return quantize(load_model(GetParam().model, {}, data.get()), *data, config, toolkit,
                    {.samples = 2});
  }

  static std::size_t products(const QuantizeResult& result) {
    std::size_t count = 0;
    for (const Region& region : result.simulated.regions) {
      count += region.pattern->follows_neighbours ? 0 : 1;
    }
    return count;
  }
};

/// Networks of which every operator is on the affine allow-list or a sum of products.
class Covered : public Objectives {};

TEST_P(Covered, LeaveNoFloatOperatorBetweenTheirInputsAndOutputs) {
  EXPECT_EQ(float_operators(quantized("coverage").integer), std::vector<std::string>{});
}

TEST_P(Objectives, CoverAtLeastAsMuchAsTheyShrinkAndShrinkAtLeastAsMuchAsTheySpeedUp) {
  const std::size_t coverage = products(quantized("coverage"));
  const std::size_t size = products(quantized("size"));
  const std::size_t latency = products(quantized("latency"));
  EXPECT_GE(coverage, size);
  EXPECT_GE(size, latency);
  EXPECT_GT(latency, 0U);
}

/// A network with an operator that has no integer form between two that have one.
Graph with_cosh() {
  return parse(
      "graph \"g\" opset 17 (%x : f32[1,2,2,2]) -> (%z) {\n"
      "const %w : f32[2,2,1,1] = [1, 0.5, -1, 2]\n"
      "%a = Conv(%x, %w) : f32[1,2,2,2]\n"
      "%b = Cosh(%a) : f32[1,2,2,2]\n"
      "%z = Conv(%b, %w) : f32[1,2,2,2]\n}");
}

TEST(Fallback, ForbiddenNamesEveryOperatorThatStaysInFloat) {
  const Toolkit& toolkit = Toolkit::builtin();
  const auto result = [&](const char* fallback) {
    Config config = read_config({}, {"objective=coverage", std::string("fallback=") + fallback},
                                toolkit.calibrator_names());
    config.layers.resize(1);
    config.layers[0].name = "z";
    config.layers[0].keep_float = true;
    const SamplesInMemory data(
        {{"x", Tensor::of<float>({1, 2, 2, 2}, {1, 2, 3, 4, -1, -2, -3, -4})}});
    return quantize(with_cosh(), data, config, toolkit);
  };
  EXPECT_EQ(float_operators(result("allow").integer), (std::vector<std::string>{"b", "z"}));
  try {
    (void)result("forbid");
    FAIL() << "operators stayed in float";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(),
                 "node 'b' (Cosh): stays in float, which 'fallback' forbids: not all of its "
                 "operands and results are quantized\n"
                 "node 'z' (Conv): stays in float, which 'fallback' forbids: the configuration "
                 "keeps it in float");
  }
}

TEST(Fallback, IsForTheNodesOfAPatternThatThrows) {
  Toolkit toolkit = Toolkit::builtin();
  for (QuantPattern& pattern : toolkit.patterns) {
    pattern.simulate = [](AffineBuilder& builder, const Match& match) -> ValueId {
      (void)builder.activation(builder.graph().node(match.root()).inputs[0]);
      throw Error(ErrorCode::kUnsupported, "", "no kernel for it");
    };
  }
  const Graph graph = with_cosh();
  const SimulatedGraph simulated =
      simulate(graph, {}, read_target("ort-cpu"), toolkit.patterns);
  EXPECT_EQ(print(simulated.graph), print(graph));
  EXPECT_TRUE(simulated.regions.empty());
  EXPECT_TRUE(simulated.points.empty());
  ASSERT_EQ(simulated.kept_float.size(), 2U);
  EXPECT_EQ(simulated.kept_float[0].reason, "pattern 'conv': no kernel for it");
}

std::vector<TestModel> covered_models() {
  std::vector<TestModel> models = test_models();
  std::erase_if(models, [](const TestModel& model) {
    return model.name.starts_with("sst2") || model.name.starts_with("yolox");
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Models, Covered, ::testing::ValuesIn(covered_models()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Models, Objectives, ::testing::ValuesIn(test_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare
