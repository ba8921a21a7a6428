// Gradients against central differences. Of each operator 100 nodes of random shapes and
// attributes: with random weights r, f(x) = sum of r op(x) changes along a random direction v
// by as much as its gradient says. Sums are in double and the step is 1/128, so that rounding
// of the results in float32 (6e-8 of each) and the curvature (h^2 / 6 of the third derivative)
// both stay far below 1e-3 of what is compared. Numbers are kept more than a step away from
// where a function has no derivative.
#include "reconstruct/gradients.h"

#include "tare/error.h"
#include "tare/execute.h"

#include "reconstruct/gradient_rule.h"
#include "reconstruct/gradient_trial.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<OperatorTrials> all_trials() {
  std::vector<OperatorTrials> all = element_trials();
  for (const auto& more : {layer_trials(), movement_trials()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST(Gradients, AreCentralDifferences) {
  for (const OperatorTrials& each : all_trials()) {
    Random random(7);
    double worst = 0;
    for (int i = 0; i < 100; ++i) {
      Trial trial;
      each.make(random, trial);
      try {
        worst = std::max(worst, deviation(trial, random));
      } catch (const Error& error) {
        FAIL() << each.op << ": " << error.what() << "\n" << print(trial.graph);
      }
    }
    EXPECT_LT(worst, 1e-3) << each.op;
  }
}

/// Rounding has none but straight through, and Dropout does nothing when nobody trains.
TEST(Gradients, OfEveryOperatorThatHasARuleAreTested) {
  std::set<std::string> tested{"FakeQuantize", "Dropout"};
  for (const OperatorTrials& each : all_trials()) {
    tested.insert(each.op);
  }
  for (const std::string& op : differentiable_ops()) {
    EXPECT_TRUE(tested.contains(op)) << op;
  }
}

/// Of f = sum of w FakeQuantize(x; s, z): what Esser et al. give for the step, element by
/// element in double.
TEST(Gradients, OfStepsAreThoseOfLearnedStepSizeQuantization) {
  Random random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const Shape shape = random_shape(random, 1, 4);
    const Tensor x = numbers(random, shape, 0, 3);
    const Tensor w = numbers(random, shape);
    const float scale = 0.1F + static_cast<float>(random.integer(0, 20)) / 100;
    const auto zero = static_cast<float>(random.integer(0, 15));
    const Tensor parameters = Tensor::of<float>({4}, std::vector<float>{scale, zero, 0, 15});
    Graph graph;
    const ValueId in = graph.add_input("x", f32(shape));
    const ValueId p = graph.add_input("p", f32({4}));
    const ValueId weight = graph.add_input("w", f32(shape));
    const ValueId y = add(graph, "FakeQuantize", {in, p}, shape);
    graph.set_outputs(
        add_gradients(graph, std::vector{y}, std::vector{weight}, std::vector{in, p}));
    const auto gradients = Executable(graph).run(std::vector{x, parameters, w});
    double of_scale = 0;
    double of_zero = 0;
    double magnitude = 0;
    for (std::size_t i = 0; i < x.view<float>().size(); ++i) {
      const float real = x.view<float>()[i] / scale;
      const float q = std::nearbyint(real) + zero;
      const double own = w.view<float>()[i];
      const bool inside = q >= 0 && q <= 15;
      const double slope = inside ? static_cast<double>(std::nearbyint(real)) - real
                                  : static_cast<double>((q < 0 ? 0 : 15) - zero);
      of_scale += own * slope;
      of_zero -= inside ? 0 : own * static_cast<double>(scale);
      magnitude += std::abs(own * slope) + std::abs(own * static_cast<double>(scale));
      EXPECT_EQ(gradients[0].view<float>()[i], inside ? w.view<float>()[i] : 0);
    }
    // Float32 sums of up to 625 products.
    EXPECT_NEAR(gradients[1].view<float>()[0], of_scale, 1e-5 * magnitude);
    EXPECT_NEAR(gradients[1].view<float>()[1], of_zero, 1e-5 * magnitude);
  }
}

/// x, read twice and by way of values that nothing depends on.
TEST(Gradients, AreSummedOverPaths) {
  Random random(5);
  Trial trial;
  const Shape shape{3, 4};
  const ValueId x = trial.input(numbers(random, shape));
  const ValueId square = add(trial.graph, "Mul", {x, x}, shape);
  const ValueId wave = add(trial.graph, "Sin", {x}, shape);
  add(trial.graph, "Floor", {x}, shape);
  trial.result("Mul", {square, add(trial.graph, "Add", {wave, x}, shape)}, shape);
  EXPECT_LT(deviation(trial, random), 1e-3);
}

/// Of a network with all that networks are made of.
TEST(Gradients, OfANetworkAreCentralDifferences) {
  Random random(11);
  Trial trial;
  const Shape image{2, 3, 6, 6};
  const auto convolve = [&](ValueId x) {
    const ValueId w = trial.input(numbers(random, {3, 3, 3, 3}, 0.05F, 0.5F));
    const ValueId b = trial.input(numbers(random, {3}, 0.05F, 0.5F));
    return add(trial.graph, "Conv", {x, w, b}, image,
               {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  };
  const ValueId x = trial.input(numbers(random, image, 0.1F, 1));
  // Smooth ones, as nobody knows on which side of a kink values in a network are.
  const ValueId first = add(trial.graph, "Gelu", {convolve(x)}, image);
  const ValueId second = add(trial.graph, "Sigmoid", {convolve(first)}, image);
  const ValueId sum = add(trial.graph, "Add", {second, x}, image);
  const ValueId pooled = add(trial.graph, "GlobalAveragePool", {sum}, {2, 3, 1, 1});
  const ValueId flat = add(trial.graph, "Flatten", {pooled}, {2, 3});
  const ValueId w = trial.input(numbers(random, {3, 4}));
  trial.result("Softmax", {add(trial.graph, "Gemm", {flat, w}, {2, 4})}, {2, 4});
  EXPECT_LT(deviation(trial, random), 1e-3);
}

TEST(Gradients, NameTheOperatorThatHasNone) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4}));
  const NodeId node = graph.add_node("cells", "CumSum", {x, x}, {{"y", f32({4})}});
  const ValueId y = graph.node(node).outputs[0];
  try {
    add_gradients(graph, std::vector{y}, std::vector{y}, std::vector{x});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("node 'cells' (CumSum)"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tare::test
