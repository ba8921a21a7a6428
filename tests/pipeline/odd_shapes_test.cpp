// Shapes that ONNX allows and few networks have: extents of 0, and scalars as inputs.
#include "tare/config.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "support/files/samples_in_memory.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct OddNetwork {
  const char* name;
  const char* body;  ///< from %r, the result of a convolution with Relu: f32[1,4,6,6]

  friend void PrintTo(const OddNetwork& network, std::ostream* out) { *out << network.name; }
};

class NoElements : public ::testing::TestWithParam<OddNetwork> {
 protected:
  static Graph network() {
    return parse(
        std::string("graph \"g\" opset 17 (%x : f32[1,4,6,6]) -> (%y) {\n"
                    "const %k : f32[4,4,1,1] = [1, 0, 2, 0, 0, 1, 0, 0, 3, 0, 1, 0, 0, "
                    "-1, 0, 1]\n"
                    "%c = Conv(%x, %k) : f32[1,4,6,6]\n%r = Relu(%c) : f32[1,4,6,6]\n") +
        GetParam().body + "\n}");
  }
  static const Dataset& samples() {
    static const SamplesInMemory data({{"x", Random(1).tensor({5, 4, 6, 6})}});
    return data;
  }
  /// The integer graph has the result that the float network has, which depends on no integer.
  static void expect_same_result(const Config& config) {
    const Graph real = network();
    const Graph integer = quantize(real, samples(), config, Toolkit::builtin()).integer;
    const std::vector<Tensor> inputs{samples().read("x", 0, 1)};
    const Tensor expected = Executable(real).run(inputs).at(0);
    EXPECT_EQ(Executable(integer).run(inputs).at(0), expected);
    EXPECT_TRUE(expected.size() == 0 ||
                expected.to_float() ==
                    std::vector<float>(static_cast<std::size_t>(expected.size()), 0.0F));
  }
};

TEST_P(NoElements, AreQuantizedAroundForEveryTargetAndEffort) {
  for (const std::string& target : target_names()) {
    for (const Effort effort : {Effort::kFast, Effort::kDefault, Effort::kBest}) {
      Config config;
      config.target = target;
      config.effort = effort;
      SCOPED_TRACE(target + ", effort " + std::to_string(static_cast<int>(effort)));
      expect_same_result(config);
    }
  }
}

TEST_P(NoElements, HaveNoDynamicParametersNorBlocks) {
  Config config;
  config.objective = Objective::kCoverage;
  expect_same_result(config);
  config.target = "qnn";
  config.weights.block = 2;
  expect_same_result(config);
  config = {};
  config.activations.dynamic = true;
  expect_same_result(config);
}

INSTANTIATE_TEST_SUITE_P(
    Of, NoElements,
    ::testing::Values(
        OddNetwork{"conv", "const %w : f32[0,4,3,3] = []\n%y = Conv(%r, %w) : f32[1,0,4,4]"},
        OddNetwork{"conv_and_relu",
                   "const %w : f32[0,4,3,3] = []\n%d = Conv(%r, %w) : f32[1,0,4,4]\n"
                   "%y = Relu(%d) : f32[1,0,4,4]"},
        OddNetwork{"product", "const %w : f32[6,0] = []\n%y = MatMul(%r, %w) : f32[1,4,6,0]"},
        OddNetwork{"gemm",
                   "const %s : i64[2] = [4, 36]\n%f = Reshape(%r, %s) : f32[4,36]\n"
                   "const %w : f32[0,36] = []\nconst %b : f32[0] = []\n"
                   "%y = Gemm(%f, %w, %b) {transB=1} : f32[4,0]"},
        OddNetwork{"product_over_nothing",
                   "const %f : i64[1] = [0]\nconst %t : i64[1] = [0]\nconst %a : i64[1] = [3]\n"
                   "%s = Slice(%r, %f, %t, %a) : f32[1,4,6,0]\nconst %w : f32[0,5] = []\n"
                   "%y = MatMul(%s, %w) : f32[1,4,6,5]"},
        OddNetwork{"transposed",
                   "const %w : f32[4,0,2,2] = []\n%y = ConvTranspose(%r, %w) : f32[1,0,7,7]"},
        OddNetwork{
            "elementwise",
            "const %f : i64[1] = [0]\nconst %t : i64[1] = [0]\nconst %a : i64[1] = [2]\n"
            "%s = Slice(%r, %f, %t, %a) : f32[1,4,0,6]\n%d = Add(%s, %s) : f32[1,4,0,6]\n"
            "%y = Sigmoid(%d) : f32[1,4,0,6]"}),
    ::testing::PrintToStringParamName());

/// A step of a network whose state has the batch on its second axis.
Graph step() {
  return parse(
      "graph \"g\" opset 17 (%x : f32[1,4], %h : f32[2,1,4]) -> (%y, %state) {\n"
      "const %k : f32[4,4] = [1, 0, 2, 0, 0, 1, 0, 0, 3, 0, 1, 0, 0, -1, 0, 1]\n"
      "%p = MatMul(%x, %k) : f32[1,4]\n%state = Add(%h, %p) : f32[2,1,4]\n"
      "%y = Tanh(%state) : f32[2,1,4]\n}");
}

TEST(WholeInputs, AreFedAsTheyAre) {
  const Tensor x = Random(1).tensor({5, 1, 4});
  const Tensor h = Random(2).tensor({5, 2, 1, 4});
  const SamplesInMemory data({{"x", x}, {"h", h}});
  EXPECT_TRUE(are_whole_inputs(step(), data));
  std::size_t sample = 0;
  run_dataset(step(), data, 1, 0, [&](std::size_t, std::vector<Tensor> outputs) {
    EXPECT_EQ(outputs.at(1).shape(), (Shape{2, 1, 4}));
    const auto* before = h.view<float>().data() + sample * 8;
    const auto* in = x.view<float>().data() + sample * 4;
    // The first column of the weights is 1, 0, 3, 0.
    EXPECT_FLOAT_EQ(outputs[1].view<float>()[0], before[0] + in[0] + 3 * in[2]);
    EXPECT_FLOAT_EQ(outputs[1].view<float>()[4], before[4] + in[0] + 3 * in[2]);
    ++sample;
  });
  EXPECT_EQ(sample, 5U);
}

TEST(WholeInputs, MayComeWithRowsOfInputsThatTakeOneARun) {
  const SamplesInMemory data(
      {{"x", Random(1).tensor({5, 4})}, {"h", Random(2).tensor({5, 2, 1, 4})}});
  std::size_t runs = 0;
  run_dataset(step(), data, 1, 0, [&](std::size_t, const std::vector<Tensor>&) { ++runs; });
  EXPECT_EQ(runs, 5U);
  const SamplesInMemory rows({{"x", Random(1).tensor({5, 4})}});
  EXPECT_FALSE(are_whole_inputs(step(), rows));
}

TEST(WholeInputs, AreCalibratedAndCompared) {
  const SamplesInMemory data(
      {{"x", Random(1).tensor({16, 1, 4})}, {"h", Random(2).tensor({16, 2, 1, 4})}});
  for (const Effort effort : {Effort::kFast, Effort::kBest}) {
    Config config;
    config.effort = effort;
    config.objective = Objective::kCoverage;
    const QuantizeResult result = quantize(step(), data, config, Toolkit::builtin());
    EXPECT_TRUE(result.table.contains("h"));
    EXPECT_GT(
        compare_result(result, data, Toolkit::builtin()).outputs.at(0).error.sqnr.value_or(0),
        20);
  }
}

TEST(ScalarInputs, TakeOneNumberOfTheSamplesInEachRun) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[1,2], %s : f32[]) -> (%y) {\n"
      "%y = Mul(%x, %s) : f32[1,2]\n}");
  const SamplesInMemory data({{"x", Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                              {"s", Tensor::of<float>({3}, {10, 20, 30})}});
  std::vector<std::vector<float>> results;
  run_dataset(graph, data, 1, 0, [&](std::size_t, std::vector<Tensor> outputs) {
    results.push_back(outputs.at(0).to_float());
  });
  EXPECT_EQ(results, (std::vector<std::vector<float>>{{10, 20}, {60, 80}, {150, 180}}));
}

TEST(ScalarInputs, AreCalibratedAndCompared) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[1,4,6,6], %s : f32[]) -> (%y) {\n"
      "const %k : f32[4,4,1,1] = [1, 0, 2, 0, 0, 1, 0, 0, 3, 0, 1, 0, 0, -1, 0, 1]\n"
      "%c = Conv(%x, %k) : f32[1,4,6,6]\n%y = Mul(%c, %s) : f32[1,4,6,6]\n}");
  const SamplesInMemory data(
      {{"x", Random(1).tensor({8, 4, 6, 6})}, {"s", Random(2).tensor({8})}});
  for (const Effort effort : {Effort::kFast, Effort::kBest}) {
    Config config;
    config.effort = effort;
    config.objective = Objective::kCoverage;
    const QuantizeResult result = quantize(graph, data, config, Toolkit::builtin());
    EXPECT_TRUE(result.table.contains("s"));
    EXPECT_GT(
        compare_result(result, data, Toolkit::builtin()).outputs.at(0).error.sqnr.value_or(0),
        20);
  }
}

TEST(ScalarInputs, DoNotGoWithSeveralSamplesARun) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%x : f32[2,2], %s : f32[]) -> (%y) {\n"
      "%y = Mul(%x, %s) : f32[2,2]\n}");
  const SamplesInMemory data(
      {{"x", Tensor(DType::kFloat32, {4, 2})}, {"s", Tensor(DType::kFloat32, {4})}});
  try {
    run_dataset(graph, data, 1, 0, [](std::size_t, std::vector<Tensor>) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "input 's': takes 1 samples, expected 2 like the inputs before it");
  }
}

}  // namespace
}  // namespace tare::test
