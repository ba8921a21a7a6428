#include "lower/forms/quick_activations.h"

#include "tare/execute.h"
#include "tare/model_files.h"

#include "support/graphs.h"
#include "support/same_structure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Two images of two channels, with an infinity, both zeros and a denormal among the values.
std::vector<Tensor> images() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {Tensor::of<float>(
      {2, 2, 1, 3}, {-3, -0.0F, 0, 1e-40F, -1e-40F, 5, kInfinity, -7, 2.5F, -1, 0.1F, -0.3F})};
}

Graph with(const std::string& body, const std::string& constants = "") {
  return parse("graph \"g\" opset 17 (%x : f32[N=2,2,1,3]) -> (%y) {\n" + constants + body +
               "\n}");
}

/// Results as they were, under their names, without operators of that type.
void expect_spelled(const Graph& graph, const std::string& op) {
  const Graph spelled = with_quick_activations(graph);
  EXPECT_EQ(count_of(spelled, op), 0U);
  EXPECT_EQ(Executable(spelled).run(images()), Executable(graph).run(images()));
  EXPECT_TRUE(spelled.find_value("y").has_value());
  EXPECT_EQ(structural_difference(graph, read_quick_activations(spelled)), "");
}

void expect_unchanged(const Graph& graph) {
  EXPECT_EQ(print(with_quick_activations(graph)), print(graph));
}

TEST(QuickActivations, AreTheLargerOneOfAValueAndItsMultiple) {
  expect_spelled(
      with("%y = PRelu(%x, %s) : f32[2,2,1,3]", "const %s : f32[2,1,1] = [0.25, -0.5]\n"),
      "PRelu");
  expect_spelled(with("%y = LeakyRelu(%x) {alpha = 0.1} : f32[2,2,1,3]"), "LeakyRelu");
}

TEST(QuickActivations, AreLeftAloneWhereASlopeIsAboveOne) {
  expect_unchanged(
      with("%y = PRelu(%x, %s) : f32[2,2,1,3]", "const %s : f32[2,1,1] = [0.25, 1.5]\n"));
  expect_unchanged(with("%y = LeakyRelu(%x) {alpha = 2.0} : f32[2,2,1,3]"));
}

TEST(QuickActivations, AreLeftAloneWhereASlopeIsZero) {
  expect_unchanged(
      with("%y = PRelu(%x, %s) : f32[2,2,1,3]", "const %s : f32[2,1,1] = [0.25, 0]\n"));
}

TEST(QuickActivations, LeaveWhatTheEngineMergesWithAConvolution) {
  expect_unchanged(
      with("%c = Conv(%x, %w) : f32[2,2,1,3]\n%y = LeakyRelu(%c) {alpha = 0.1} : f32[2,2,1,3]",
           "const %w : f32[2,2,1,1] = [1, 2, 3, 4]\n"));
}

TEST(QuickActivations, LeaveALeakyReluThatIsLookedUp) {
  expect_unchanged(
      with("%q = QuantizeLinear(%x, %s, %z) : u8[2,2,1,3]\n"
           "%d = DequantizeLinear(%q, %s, %z) : f32[2,2,1,3]\n"
           "%l = LeakyRelu(%d) {alpha = 0.1} : f32[2,2,1,3]\n"
           "%r = QuantizeLinear(%l, %s, %z) : u8[2,2,1,3]\n"
           "%y = DequantizeLinear(%r, %s, %z) : f32[2,2,1,3]",
           "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\n"));
}

/// 1,200 values from -60 to 60, the lowest one of all, and infinity.
Tensor many() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Tensor values(DType::kFloat32, {1, 1200});
  for (int i = 0; i < 1200; ++i) {
    values.mutable_view<float>()[static_cast<std::size_t>(i)] =
        0.1F * static_cast<float>(i - 600) + 0.003F;
  }
  values.mutable_view<float>()[0] = std::numeric_limits<float>::lowest();
  values.mutable_view<float>()[1] = kInfinity;
  return values;
}

TEST(QuickActivations, AreSumsOfPartsWhereASlopeIsAboveOneOrZero) {
  for (const char* body : {"const %s : f32[2,1] = [1.5, 0]\n%y = PRelu(%x, %s) : f32[1,2,600]",
                           "const %s : f32[2,1] = [-3, 2]\n%y = PRelu(%x, %s) : f32[1,2,600]",
                           "%y = LeakyRelu(%x) {alpha = 2.0} : f32[1,2,600]"}) {
    const Graph graph = parse("graph \"g\" opset 17 (%x : f32[N=1,2,600]) -> (%y) {\n" +
                              std::string(body) + "\n}");
    const Graph spelled = with_quick_activations(graph);
    EXPECT_EQ(count_of(spelled, "Min"), 1U);
    const std::vector<Tensor> inputs{many().reshaped({1, 2, 600})};
    EXPECT_EQ(Executable(spelled).run(inputs)[0].to_float(),
              Executable(graph).run(inputs)[0].to_float());
    EXPECT_EQ(structural_difference(graph, read_quick_activations(spelled)), "");
  }
}

class QuickExponentials : public testing::TestWithParam<const char*> {};

/// Twice the roundings of float32 of the result, or of 1 where a difference from 1 gave it.
TEST_P(QuickExponentials, AreTheSameFunctions) {
  const Graph graph = parse("graph \"g\" opset 17 (%x : f32[N=1,1200]) -> (%y) {\n" +
                            std::string(GetParam()) + "\n}");
  const Graph spelled = with_quick_activations(graph);
  EXPECT_GT(count_of(spelled, "Exp"), 0U);
  const std::vector<Tensor> expected = Executable(graph).run({{many()}});
  const std::vector<Tensor> results = Executable(spelled).run({{many()}});
  for (std::size_t i = 0; i < 1200; ++i) {
    const float value = expected[0].view<float>()[i];
    if (!std::isfinite(value)) {
      EXPECT_EQ(results[0].view<float>()[i], value);
      continue;
    }
    EXPECT_NEAR(results[0].view<float>()[i], value, 2.4e-7 * std::max(1.F, std::abs(value)))
        << many().view<float>()[i];
  }
  EXPECT_TRUE(spelled.find_value("y").has_value());
  EXPECT_EQ(structural_difference(graph, read_quick_activations(spelled)), "");
}

INSTANTIATE_TEST_SUITE_P(
    QuickActivations, QuickExponentials,
    testing::Values("%y = Elu(%x) {alpha = 1.0} : f32[1,1200]",
                    "%y = Elu(%x) {alpha = 0.25} : f32[1,1200]",
                    "%y = Elu(%x) {alpha = 2.5} : f32[1,1200]", "%y = Selu(%x) : f32[1,1200]",
                    "%y = Softplus(%x) : f32[1,1200]",
                    "%s = Softplus(%x) : f32[1,1200]\n%t = Tanh(%s) : f32[1,1200]\n"
                    "%y = Mul(%x, %t) : f32[1,1200]"));

TEST(QuickActivations, LeaveExponentialsOfFewElements) {
  expect_unchanged(with("%y = Elu(%x) {alpha = 1.0} : f32[2,2,1,3]"));
}

}  // namespace
}  // namespace tare::test
