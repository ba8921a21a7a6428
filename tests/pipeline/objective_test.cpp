#include "tare/config.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/pattern.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "lower/lower.h"
#include "support/config.h"
#include "support/files/models.h"
#include "support/files/samples_in_memory.h"
#include "support/simulated.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class Objectives : public ::testing::TestWithParam<TestModel> {
 protected:
  QuantizeResult quantized(const std::string& objective) const {
    const auto data = open_dataset(GetParam().calibration);
    const Toolkit& toolkit = Toolkit::builtin();
    const Config config = config_with({"objective=" + objective, "accuracy.effort=fast"});
    return quantize(load_model(GetParam().model, {}, data.get()), *data, config, toolkit,
                    {.samples = 2});
  }

  static std::size_t products(const QuantizeResult& result) {
    const auto& regions = result.simulated.regions;
    return static_cast<std::size_t>(
        std::count_if(regions.begin(), regions.end(), [](const Region& region) {
          return !region.pattern->follows_neighbours && region.pattern->name != "lookup";
        }));
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

/// Two tables that are looked up, one of them too small to gain, and a product. What reads the
/// tables has no integer form.
class SmallTables : public ::testing::Test {
 protected:
  static constexpr int kRows = 64;

  /// Later rows hold larger numbers.
  static float entry(int row, int column) {
    return static_cast<float>(0.01 * (row + 1) * std::sin(3.0 * row + column));
  }

  static std::string numbers(int rows, int columns) {
    std::string text;
    for (int i = 0; i < rows * columns; ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(entry(i / columns, i % columns));
    }
    return text;
  }

  static Graph network() {
    return parse(
        "graph \"g\" opset 17 (%x : i64[1,4]) -> (%y) {\n"
        "const %table : f32[64,8] = [" +
        numbers(kRows, 8) + "]\nconst %few : f32[4,8] = [" + numbers(4, 8) +
        "]\nconst %w : f32[8,8] = [" + numbers(8, 8) +
        "]\nconst %four : i64[1] = [4]\n"
        "rows: %rows = Gather(%table, %x) : f32[1,4,8]\n"
        "mod: %m = Mod(%x, %four) : i64[1,4]\n"
        "less: %less = Gather(%few, %m) : f32[1,4,8]\n"
        "sum: %c = Cosh(%rows) : f32[1,4,8]\n"
        "other: %s = Sinh(%less) : f32[1,4,8]\n"
        "both: %b = Sub(%c, %s) : f32[1,4,8]\n"
        "last: %y = MatMul(%b, %w) : f32[1,4,8]\n}");
  }

  /// Samples that ask for the first rows only.
  static QuantizeResult quantized(Objective objective) {
    std::vector<std::int64_t> ids(40 * 4);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<std::int64_t>(i % 8);
    }
    const SamplesInMemory data({{"x", Tensor::of<std::int64_t>({40, 4}, ids)}});
    Config config;
    config.objective = objective;
    return quantize(network(), data, config, Toolkit::builtin());
  }

  /// Bytes of constants by type, of the file.
  static std::map<DType, std::size_t> bytes(const QuantizeResult& result) {
    const Graph file = export_form(result.integer, Form::kQdq, result.simulated.target);
    std::map<DType, std::size_t> sums;
    for (const ValueId value : file.values()) {
      if (const Tensor* constant = file.constant(value)) {
        sums[constant->dtype()] += static_cast<std::size_t>(element_count(constant->shape())) *
                                   size_of(constant->dtype());
      }
    }
    return sums;
  }
};

TEST_F(SmallTables, HoldIntegersWhereTheFileIsToBeSmall) {
  const auto small = bytes(quantized(Objective::kSize));
  EXPECT_EQ(small.at(DType::kUint8) / 100, 64U * 8 / 100) << "and zero points";
  EXPECT_GE(small.at(DType::kInt8), 8U * 8) << "the product";
  EXPECT_LT(small.at(DType::kFloat32), 4U * (4 * 8 + 3 * 8)) << "the small table, and scales";
  const auto fast = bytes(quantized(Objective::kLatency));
  EXPECT_GE(fast.at(DType::kFloat32), 4U * 64 * 8) << "the table gains no time";
}

TEST_F(SmallTables, AreRightInRowsThatNoSampleAskedFor) {
  const Graph lookup = parse(
      "graph \"g\" opset 17 (%x : i64[1,1]) -> (%y) {\n"
      "const %table : f32[64,8] = [" +
      numbers(kRows, 8) +
      "]\nrows: %rows = Gather(%table, %x) : f32[1,1,8]\n"
      "sum: %y = Sinh(%rows) : f32[1,1,8]\n}");
  const SamplesInMemory data({{"x", Tensor::of<std::int64_t>({2, 1}, {0, 1})}});
  Config config;
  config.objective = Objective::kSize;
  const Graph integer = quantize(lookup, data, config, Toolkit::builtin()).integer;
  const Tensor last = Tensor::of<std::int64_t>({1, 1}, {kRows - 1});
  const std::vector<Tensor> results = Executable(integer).run({&last, 1});
  for (int column = 0; column < 8; ++column) {
    constexpr double kStep = 2 * 0.64 / 255;
    EXPECT_NEAR(results[0].to_double()[static_cast<std::size_t>(column)],
                std::sinh(entry(kRows - 1, column)), 1.3 * kStep / 2);
  }
}

TEST_F(SmallTables, StayInFloatWhereARuleSaysSo) {
  Config config;
  config.objective = Objective::kSize;
  config.layers = {{.name = "rows", .keep_float = true}};
  const SimulatedGraph simulated = simulated_with(network(), config);
  EXPECT_EQ(simulated.find("rows"), nullptr);
  ASSERT_FALSE(simulated.kept_float.empty());
  EXPECT_EQ(simulated.kept_float[0].node, "rows");
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
    Config config = config_with({"objective=coverage", std::string("fallback=") + fallback});
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
}  // namespace tare::test
