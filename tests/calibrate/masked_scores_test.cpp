#include "tare/execute.h"
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "calibrate/calibrate.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random.h"
#include "support/simulated.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Attention of 8 positions: scores, a mask that is an input, and probabilities. `more` is in
/// the place of the result.
Graph attention(const std::string& more = "") {
  std::string text = R"(graph "g" opset 17 (%x : f32[1,8,8], %mask : f32[1,1,8]) -> (RESULTS) {
  const %w : f32[8,8] = [WEIGHTS]
  %scores = MatMul(%x, %w) : f32[1,8,8]
  %masked = Add(%scores, %mask) : f32[1,8,8]
  %y = Softmax(%masked) {axis=-1} : f32[1,8,8]
)" + more + "}\n";
  std::string weights;
  for (int i = 0; i < 64; ++i) {
    weights += (i == 0 ? "" : ", ") + std::to_string((i * 37 % 64 - 31) / 24.0);
  }
  text.replace(text.find("WEIGHTS"), 7, weights);
  text.replace(text.find("RESULTS"), 7, more.empty() ? "%y" : "%y, %z");
  return parse(text);
}

SamplesInMemory samples() {
  Random random(4);
  Tensor mask(DType::kFloat32, {40, 1, 8});
  for (std::size_t i = 0; i < 320; ++i) {
    mask.mutable_view<float>()[i] = i % 8 > 3 + i / 80 ? -10000.F : 0.F;
  }
  return SamplesInMemory({{"x", random.tensor({40, 8, 8})}, {"mask", mask}});
}

Config everything(Schedule schedule, const std::string& calibrator) {
  Config config;
  config.target = "qnn";
  config.slowdown = 0;  // 8 bits for all
  config.schedule = schedule;
  config.activations.calibrator.name = calibrator;
  return config;
}

constexpr auto kSchedules = {Schedule::kSequential, Schedule::kIndependent};

/// The largest error of a probability over all samples.
double largest_error(const QuantizeResult& result) {
  double largest = 0;
  const SamplesInMemory data = samples();
  std::vector<Tensor> expected;
  run_dataset(result.prepared, data, 1, 0, [&](std::size_t, std::vector<Tensor> outputs) {
    expected.push_back(std::move(outputs[0]));
  });
  run_dataset(result.integer, data, 1, 0, [&](std::size_t run, std::vector<Tensor> outputs) {
    const auto real = expected[run].to_float();
    const auto quantized = outputs[0].to_float();
    for (std::size_t i = 0; i < real.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(real[i]) - quantized[i]));
    }
  });
  return largest;
}

TEST(MaskedScores, HaveRangesThatEndBelowTheScoresAndAboveTheMask) {
  for (const Schedule schedule : kSchedules) {
    const QuantTable table =
        quantize(attention(), samples(), everything(schedule, "mse"), Toolkit::builtin()).table;
    const Range observed = table.at("masked").observed[0];
    const Range range = table.at("masked").calibrated[0];
    const double lowest = table.at("scores").observed[0].low - std::log(2.0 * 256 * 8);
    EXPECT_LT(observed.low, -9000);
    // Ranges that were chosen end a little later, see avoid_rounding_ties().
    EXPECT_NEAR(range.low, lowest, 0x1p-11 * -lowest);
    EXPECT_NEAR(range.high, observed.high, 0x1p-11 * observed.high);
  }
}

TEST(MaskedScores, LeaveProbabilitiesAsTheyAre) {
  for (const Schedule schedule : kSchedules) {
    const Toolkit& toolkit = Toolkit::builtin();
    const double error =
        largest_error(quantize(attention(), samples(), everything(schedule, "mse"), toolkit));
    const QuantizeResult all =
        quantize(attention(), samples(), everything(schedule, "max"), toolkit);
    // Steps of about a tenth move a probability p by at most p (1 - p) of that, and 8 bits
    // round it.
    const QuantParams& params = all.table.at("masked").params;
    EXPECT_GT(params.scale[0], 30) << "'max' keeps all, as it was asked to";
    EXPECT_LT(error, 0.05);
    EXPECT_GT(largest_error(all), 0.3);
  }
}

TEST(MaskedScores, AreChosenFromStatisticsAsFromSamples) {
  const Toolkit& toolkit = Toolkit::builtin();
  const Config config = everything(Schedule::kIndependent, "mse");
  const SimulatedGraph simulated = simulated_with(attention(), config);
  const SamplesInMemory data = samples();
  EXPECT_EQ(choose(simulated, collect(simulated, data), toolkit.calibrators),
            calibrate(simulated, data, toolkit.calibrators));
}

TEST(MaskedScores, ThatAreReadBySomethingElseKeepTheMask) {
  const QuantTable table =
      quantize(attention("  %z = Relu(%masked) : f32[1,8,8]\n"), samples(),
               everything(Schedule::kIndependent, "mse"), Toolkit::builtin())
          .table;
  EXPECT_LT(table.at("masked").calibrated[0].low, -5000);
}

}  // namespace
}  // namespace tare::test
