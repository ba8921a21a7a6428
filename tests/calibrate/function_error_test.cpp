#include "calibrate/selection/function_error.h"

#include "tare/execute.h"
#include "tare/graph.h"

#include "calibrate/calibrator_support.h"
#include "calibrate/selection/tabulated_function.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random.h"

#include <cmath>
#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Function = std::function<double(double)>;

double silu(double x) {
  return x / (1 + std::exp(-x));
}

/// At 4097 places.
TabulatedFunction tabulated(const Function& f, double low, double high) {
  std::vector<double> places;
  for (int i = 0; i <= 4096; ++i) {
    places.push_back(f(low + (high - low) * i / 4096));
  }
  return {{low, high}, std::move(places)};
}

/// By quantizing every value.
double error_of_results(const std::vector<float>& values, const Function& f,
                        const QuantParams& params) {
  const Tensor x = Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values);
  const Tensor y = dequantize(quantize(x, params), params);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off =
        f(static_cast<double>(y.view<float>()[i])) - f(static_cast<double>(values[i]));
    sum += off * off;
  }
  return sum;
}

TEST(FunctionError, IsThatOfTheResultsOfQuantizedValues) {
  const std::vector<float> values = normal_values(20000, -1, 3);
  const TensorStatistics observed = statistics_of(values);
  const Function hard_swish = [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; };
  for (const Function& f : {Function(silu), hard_swish, Function([](double x) { return x; })}) {
    const FunctionError error(observed, tabulated(f, observed.low(), observed.high()));
    for (const Range& range : {Range{-12, 10}, Range{-3, 10}, Range{-4, 4}, Range{-1, 6}}) {
      const QuantParams params = to_quant_params({range}, kAsymmetric);
      const double expected = error_of_results(values, f, params);
      // 20000 values are unevenly spread over 256 steps by some 1 %.
      EXPECT_NEAR(error.sum_of_squares(params), expected, 0.05 * expected)
          << range.low << ' ' << range.high;
    }
  }
}

TEST(FunctionError, KnowsThePowerOfTheResults) {
  const std::vector<float> values = normal_values(20000);
  const TensorStatistics observed = statistics_of(values);
  const FunctionError error(observed, tabulated(silu, observed.low(), observed.high()));
  double expected = 0;
  for (const float x : values) {
    expected += silu(static_cast<double>(x)) * silu(static_cast<double>(x));
  }
  EXPECT_NEAR(error.power(), expected, 0.001 * expected);
}

Graph activated(const std::string& op) {
  return parse(R"(graph "g" opset 17 (%in : f32[1,4]) -> (%y) {
  const %w : f32[4,4] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  const %v : f32[4,4] = [1, -1, 1, 1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1, 1, -1]
  %x = MatMul(%in, %w) : f32[1,4]
)" + op + R"(  %y = MatMul(%a, %v) : f32[1,4]
}
)");
}

const std::string kSilu = R"(  %s = Sigmoid(%x) : f32[1,4]
  %a = Mul(%x, %s) : f32[1,4]
)";

TEST(TabulatedActivation, IsWhatTheNetworkComputes) {
  const Graph graph = activated(kSilu);
  const auto function = tabulated_activation(graph, *graph.find_value("x"), {-20, 12});
  ASSERT_TRUE(function);
  for (double x = -20; x <= 12; x += 0.0371) {
    // Places are 1/128 apart, and the second derivative is at most 1/2: 1/128^2 / 8 / 2.
    EXPECT_NEAR((*function)(x), silu(x), 5e-6);
  }
  EXPECT_NEAR((*function)(-30), silu(-20), 1e-6);  // constant beyond its ends
}

TEST(TabulatedActivation, IsNoneThatATableDoesNotHold) {
  for (const std::string op : {"Log", "Reciprocal", "Sign", "Floor"}) {
    const Graph graph = activated("  %a = " + op + "(%x) : f32[1,4]\n");
    EXPECT_FALSE(tabulated_activation(graph, *graph.find_value("x"), {-8, 8})) << op;
    EXPECT_FALSE(tabulated_activation(graph, *graph.find_value("x"), {0, 8})) << op;
  }
  const Graph graph = activated(kSilu);
  EXPECT_FALSE(tabulated_activation(graph, *graph.find_value("x"), {0, 0}));
}

/// Quantizes a network whose inputs reach from -40 to 8.
QuantizeResult quantized(const Graph& graph, Schedule schedule, const std::string& calibrator) {
  Random random(3);
  Tensor in = random.tensor({64, 4});
  for (float& x : in.mutable_view<float>()) {
    x = x < 0 ? 40 * x : 8 * x;
  }
  Config config;
  config.target = "qnn";
  config.slowdown = 0;  // 8 bits for all
  config.schedule = schedule;
  config.activations.calibrator.name = calibrator;
  return quantize(graph, SamplesInMemory({{"in", in}}), config, Toolkit::builtin());
}

TEST(Mse, EndsARangeWhereAnActivationFunctionIsFlat) {
  const Graph graph = activated(kSilu);
  for (const Schedule schedule : {Schedule::kSequential, Schedule::kIndependent}) {
    const Range range = quantized(graph, schedule, "mse").table.at("x").calibrated[0];
    // Below -8 SiLU is within 0.003 of 0, a twentieth of an 8-bit step, and its slope is 1/10
    // at -2.
    EXPECT_GT(range.low, -8);
    EXPECT_LT(range.low, -2);
    EXPECT_GT(range.high, 7);
    // Others choose by the values alone.
    EXPECT_LT(quantized(graph, schedule, "max").table.at("x").calibrated[0].low, -35);
  }
}

TEST(Mse, GoesByTheValuesWhereOthersReadThemToo) {
  const Graph graph = activated(R"(  %s = Sigmoid(%x) : f32[1,4]
  %b = MatMul(%x, %w) : f32[1,4]
  %a = Mul(%b, %s) : f32[1,4]
)");
  for (const Schedule schedule : {Schedule::kSequential, Schedule::kIndependent}) {
    EXPECT_LT(quantized(graph, schedule, "mse").table.at("x").calibrated[0].low, -20);
  }
}

}  // namespace
}  // namespace tare::test
