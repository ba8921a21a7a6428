#include "lower/forms/quantize_behind_pools.h"

#include "tare/config.h"
#include "tare/execute.h"

#include "support/graphs.h"

#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const Target& cpu() {
  static const Target target = read_target("ort-cpu");
  return target;
}

/// A MaxPool of what a convolution in float computes, between conversions whose second ones
/// have that scale.
Graph pooled(const std::string& scale = "%s") {
  return parse(
      "graph \"g\" opset 17 (%x : f32[1,1,4,4]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %t : f32[] = [0.25]\nconst %z : u8[] = [3]\n"
      "const %w : f32[1,1,1,1] = [0.7]\n%f = Conv(%x, %w) : f32[1,1,4,4]\n"
      "%q = QuantizeLinear(%f, %s, %z) : u8[1,1,4,4]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]\n"
      "%p = MaxPool(%d) {kernel_shape = [2, 2], strides = [2, 2]} : f32[1,1,2,2]\n"
      "%r = QuantizeLinear(%p, " +
      scale +
      ", %z) : u8[1,1,2,2]\n"
      "%y = DequantizeLinear(%r, " +
      scale + ", %z) : f32[1,1,2,2]\n}");
}

TEST(QuantizeBehindPools, RoundsAQuarterOfTheElementsAndChangesNoResult) {
  const Graph before = pooled();
  const Graph after = quantize_behind_pools(before, cpu());
  EXPECT_EQ(count_of(after, "QuantizeLinear"), 1U);
  EXPECT_EQ(count_of(after, "DequantizeLinear"), 1U);
  std::vector<float> elements(16);
  std::iota(elements.begin(), elements.end(), -5.3F);
  const Tensor x = Tensor::of<float>({1, 1, 4, 4}, elements);
  EXPECT_EQ(Executable(after).run(std::span(&x, 1)), Executable(before).run(std::span(&x, 1)));
}

/// Between integers as well: a PRelu has no kernel for them, a LeakyRelu has.
TEST(QuantizeBehindPools, IsForWhatTheTargetHasNoIntegerKernelFor) {
  const auto roundings = [](const std::string& activation) {
    const Graph graph = parse(
        "graph \"g\" opset 17 (%i : u8[1,1,4,4]) -> (%y) {\n"
        "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %a : f32[1,1,1] = [0.2]\n"
        "%x = DequantizeLinear(%i, %s, %z) : f32[1,1,4,4]\n%f = " +
        activation +
        " : f32[1,1,4,4]\n"
        "%q = QuantizeLinear(%f, %s, %z) : u8[1,1,4,4]\n"
        "%d = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]\n"
        "%p = MaxPool(%d) {kernel_shape = [2, 2], strides = [2, 2]} : f32[1,1,2,2]\n"
        "%r = QuantizeLinear(%p, %s, %z) : u8[1,1,2,2]\n"
        "%y = DequantizeLinear(%r, %s, %z) : f32[1,1,2,2]\n}");
    return count_of(quantize_behind_pools(graph, cpu()), "QuantizeLinear");
  };
  EXPECT_EQ(roundings("PRelu(%x, %a)"), 1U);
  EXPECT_EQ(roundings("LeakyRelu(%x) {alpha = 0.2}"), 2U);
}

TEST(QuantizeBehindPools, LeavesPoolsAloneWhoseResultIsRoundedOtherwise) {
  const Graph otherwise = pooled("%t");
  EXPECT_EQ(count_of(quantize_behind_pools(otherwise, cpu()), "QuantizeLinear"), 2U);
}

}  // namespace
}  // namespace tare::test
