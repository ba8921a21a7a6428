// Layers of real networks that oneDNN 2.6 gets wrong when left to its choice.
#include "kernels/layer.h"
#include "kernels/trial.h"
#include "support/graphs.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

enum class Then : std::uint8_t { kNothing, kRelu, kAdd };

/// Conv with a bias of whole numbers, which float32 adds up exactly, and what is fused behind
/// it.
std::string wrong(const Layer& layer, Then then, Random& random) {
  Trial trial(random);
  trial.whole = true;
  const Shape shape = layer.y();
  const auto x = trial.operand(layer.x(), false);
  const auto weights = trial.operand(layer.weights(), true);
  const auto bias = trial.operand({shape[1]}, true);
  const auto other = trial.operand(shape, then != Then::kAdd);
  Expected expected(static_cast<std::size_t>(element_count(shape)));
  for_each_product(layer, [&](const Meeting& at) {
    expected.values[at.y] += static_cast<double>(x.values.view<float>()[at.x] *
                                                 weights.values.view<float>()[at.weight]);
  });
  const std::size_t positions =
      expected.values.size() / static_cast<std::size_t>(shape[0] * shape[1]);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    double& y = expected.values[i];
    y += static_cast<double>(
        bias.values.view<float>()[i / positions % static_cast<std::size_t>(shape[1])]);
    y += then == Then::kAdd ? static_cast<double>(other.values.view<float>()[i]) : 0;
    y = then == Then::kRelu ? std::max(0.0, y) : y;
  }
  ValueId y = trial.add("Conv", {x.id, weights.id, bias.id}, f32(shape), layer.attributes());
  if (then != Then::kNothing) {
    y = then == Then::kRelu ? trial.add("Relu", {y}, f32(shape))
                            : trial.add("Add", {y, other.id}, f32(shape));
  }
  return trial.wrong(y, expected);
}

/// Precise or not and in either layout, as it comes.
void expect_right(const Layer& layer, Then then) {
  Random random(1);
  for (int round = 0; round < 6; ++round) {
    EXPECT_EQ(wrong(layer, then, random), "");
  }
}

TEST(GlobalDepthwise, AddsItsOwnBiasToEveryChannel) {
  for (const std::int64_t channels : {16, 17, 64, 512}) {
    for (const std::int64_t window : {3, 5, 7}) {
      const SlidingAxis axis{.in = window, .out = 1, .kernel = window};
      const SlidingAxis padded{.in = 2, .out = 1, .kernel = 3, .stride = 2, .begin = 1};
      expect_right({.groups = channels, .axes = {axis, axis}}, Then::kNothing);
      expect_right({.groups = channels, .axes = {axis, axis}}, Then::kRelu);
      expect_right({.groups = channels, .axes = {padded, axis}}, Then::kNothing);
    }
  }
}

TEST(OnePosition, AddsItsOwnBiasToEveryChannel) {
  const SlidingAxis axis{.in = 2, .out = 1, .kernel = 2};
  expect_right({.inputs = 59, .outputs = 23, .axes = {axis, axis}}, Then::kRelu);
}

TEST(Residual, IsAddedAtItsOwnPosition) {
  expect_right({.inputs = 6,
                .outputs = 33,
                .axes = {{.in = 14, .out = 6, .kernel = 2, .stride = 3, .begin = 1, .end = 2},
                         {.in = 18,
                          .out = 5,
                          .kernel = 3,
                          .stride = 3,
                          .dilation = 3,
                          .begin = 2,
                          .end = 1}}},
               Then::kAdd);
  expect_right({.groups = 4,
                .inputs = 9,
                .outputs = 9,
                .axes = {{.in = 4, .out = 4, .kernel = 3, .end = 2},
                         {.in = 11, .out = 4, .kernel = 6, .stride = 3, .begin = 5}}},
               Then::kAdd);
  expect_right({.inputs = 17,
                .outputs = 25,
                .axes = {{.in = 4, .out = 2, .stride = 3},
                         {.in = 1, .out = 2, .stride = 2, .end = 2},
                         {.in = 16, .out = 6, .stride = 3}}},
               Then::kAdd);
}

/// Crashed in two halves, precisely.
TEST(PaddedPointwise, ClipsWhatLiesInPaddingOnly) {
  expect_right({.batch = 2,
                .inputs = 160,
                .outputs = 48,
                .axes = {{.in = 1, .out = 2, .end = 1}, {.in = 9, .out = 5, .stride = 2}}},
               Then::kRelu);
  expect_right({.inputs = 144,
                .outputs = 2,
                .axes = {{.in = 14, .out = 6, .stride = 3, .begin = 2}, {.in = 8, .out = 8}}},
               Then::kRelu);
}

/// Clip to [-64, 64], a residual, and Clip to [-16, 16].
std::string wrong_clips(const Layer& layer, Random& random) {
  Trial trial(random);
  trial.whole = true;
  const Shape shape = layer.y();
  const auto x = trial.operand(layer.x(), false);
  const auto weights = trial.operand(layer.weights(), true);
  const auto other = trial.operand(shape, false);
  Expected expected(static_cast<std::size_t>(element_count(shape)));
  for_each_product(layer, [&](const Meeting& at) {
    expected.values[at.y] += static_cast<double>(x.values.view<float>()[at.x] *
                                                 weights.values.view<float>()[at.weight]);
  });
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const auto residual = static_cast<double>(other.values.view<float>()[i]);
    expected.values[i] =
        std::clamp(std::clamp(expected.values[i], -64.0, 64.0) + residual, -16.0, 16.0);
  }
  const auto clipped = [&](ValueId value, float limit) {
    return trial.add("Clip",
                     {value, trial.constant(Tensor::of<float>({}, {-limit})).id,
                      trial.constant(Tensor::of<float>({}, {limit})).id},
                     f32(shape));
  };
  const ValueId y =
      clipped(trial.add("Conv", {x.id, weights.id}, f32(shape), layer.attributes()), 64);
  return trial.wrong(clipped(trial.add("Add", {y, other.id}, f32(shape)), 16), expected);
}

TEST(TwoClips, HaveBoundsOfTheirOwn) {
  const SlidingAxis axis{.in = 6, .out = 4, .kernel = 3};
  Random random(1);
  for (const std::int64_t channels : {5, 16, 32}) {
    EXPECT_EQ(wrong_clips({.inputs = 16, .outputs = channels, .axes = {axis, axis}}, random),
              "");
    EXPECT_EQ(wrong_clips({.groups = channels, .axes = {axis, axis}}, random), "");
  }
}

TEST(ThreeAxes, AddTheirOwnBiasToEveryChannel) {
  const SlidingAxis axis{.in = 5, .out = 3, .kernel = 3};
  for (const std::int64_t channels : {6, 17}) {
    expect_right({.inputs = 4, .outputs = channels, .axes = {axis, axis, axis}},
                 Then::kNothing);
  }
}

}  // namespace
}  // namespace tare::test
