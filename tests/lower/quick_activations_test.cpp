#include "lower/forms/quick_activations.h"

#include "tare/execute.h"
#include "tare/model_files.h"

#include "support/graphs.h"
#include "support/same_structure.h"

#include <limits>

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

TEST(QuickActivations, GateAValueByAReshapedOne) {
  const Graph silu = with("%g = Sigmoid(%x) : f32[2,2,1,3]\n%y = Mul(%x, %g) : f32[2,2,1,3]");
  const Graph spelled = with_quick_activations(silu);
  EXPECT_EQ(count_of(spelled, "Reshape"), 1U);
  EXPECT_EQ(Executable(spelled).run(images()), Executable(silu).run(images()));
  EXPECT_EQ(structural_difference(silu, read_quick_activations(spelled)), "");
  // Every extent stays open.
  const std::vector<Shape> larger{{5, 2, 7, 3}};
  const Graph other = with_input_shapes(spelled, larger, {});
  EXPECT_EQ(other.type(other.outputs()[0]).shape, larger[0]);
}

TEST(QuickActivations, LeaveAGateThatIsReadElsewhere) {
  expect_unchanged(
      with("%g = Sigmoid(%x) : f32[2,2,1,3]\n%m = Mul(%x, %g) : f32[2,2,1,3]\n"
           "%y = Add(%m, %g) : f32[2,2,1,3]"));
}

}  // namespace
}  // namespace tare::test
