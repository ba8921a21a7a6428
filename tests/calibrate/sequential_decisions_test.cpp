// Every decision of the sequential schedule against plain loops over what the network computes
// where all points before it, as they were decided, are enabled.
#include "tare/execute.h"
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "calibrate/calibrate.h"
#include "calibrate/decided_layer.h"
#include "calibrate/plain_gptq.h"
#include "calibrate/plain_params.h"
#include "graph/operators/activation_function.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random_network.h"
#include "support/run.h"
#include "support/simulated.h"
#include "support/team.h"
#include "support/visible_part.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kSamples = 6;

/// A simulated network, samples for it and what was decided.
struct Decided {
  SimulatedGraph simulated;
  SamplesInMemory data;
  QuantTable table;

  const PointResult& of(const QuantPoint& point) const { return table.at(point.name); }
};

Decided decided(std::uint32_t seed, const Config& config) {
  Random random(seed);
  const Graph graph = prepare(random_network(random, 20), Toolkit::builtin());
  Decided result{simulated_with(graph, config), random_samples(graph, kSamples, random), {}};
  result.table =
      calibrate_sequentially(result.simulated, result.data, Toolkit::builtin().calibrators);
  return result;
}

/// Activations in the order in which the network computes them.
std::vector<const QuantPoint*> activations(const SimulatedGraph& simulated) {
  std::map<ValueId, std::size_t> place;
  for (const ValueId input : simulated.graph.inputs()) {
    place.emplace(input, 0);
  }
  for (const NodeId id : simulated.graph.topological_order()) {
    for (const ValueId output : simulated.graph.node(id).outputs) {
      place.emplace(output, place.size());
    }
  }
  std::vector<const QuantPoint*> result;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      result.push_back(&point);
    }
  }
  std::stable_sort(result.begin(), result.end(), [&](const QuantPoint* a, const QuantPoint* b) {
    return place.at(a->simulated) < place.at(b->simulated);
  });
  return result;
}

/// One value of the bound graph for each sample.
std::vector<Tensor> samples_of(const Graph& bound, const Dataset& data, ValueId value) {
  const Executable executable(bound, {.observe = {value}});
  Executable::Workspace workspace(executable);
  std::vector<Tensor> result;
  for (std::size_t sample = 0; sample < data.size(); ++sample) {
    (void)executable.run(
        workspace, inputs_of(bound, data, sample),
        [&](std::size_t, const TensorView& view) { result.push_back(view.tensor()); });
  }
  return result;
}

/// How many decisions come before a value is known, at the most.
std::size_t depth(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  std::size_t result = 0;
  if (producer) {
    for (const ValueId input : graph.node(*producer).inputs) {
      if (input && graph.constant(input) == nullptr) {
        const bool is_decided = !graph.type(input).point.empty() && graph.producer(input) &&
                                graph.node(*graph.producer(input)).op == "SimulatedQuantize";
        result = std::max(result, depth(graph, input) + (is_decided ? 1 : 0));
      }
    }
  }
  return result;
}

/// For each sample what a value is added to in front of a Relu, rounded if that was decided
/// before the value's point, which may be of another branch. Empty for other values.
std::vector<Tensor> others_of(const Decided& all, const QuantPoint& point) {
  const SimulatedGraph& simulated = all.simulated;
  const std::string other = other_operand(simulated.source, simulated.source.name(point.value));
  if (other.empty()) {
    return {};
  }
  const auto rounded = all.table.find(other);
  const ValueId value = rounded == all.table.end() ? *simulated.graph.find_value(other)
                                                   : simulated.find(other)->simulated;
  const std::size_t own = depth(simulated.graph, point.simulated);
  const std::size_t theirs = depth(simulated.graph, value);
  if (theirs > own) {
    return {};
  }
  QuantTable table = all.table;
  table[other].enabled = false;
  std::vector<Tensor> result = samples_of(tare::bind(simulated, table), all.data, value);
  if (rounded != all.table.end() && theirs < own) {
    for (Tensor& sample : result) {
      sample = dequantize(quantize(sample, rounded->second.params), rounded->second.params);
    }
  }
  return result;
}

/// As `mse` looks at them: what a Relu behind a sum hides is of no account.
std::vector<Tensor> visible_parts(const std::vector<Tensor>& samples,
                                  const std::vector<Tensor>& others) {
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    result.push_back(others.empty() ? samples[i] : visible_part(samples[i], others[i]));
  }
  return result;
}

/// The range of the least error of what is visible, within that of all values.
Range least_error_range(const QuantPoint& point, const TensorStatistics& all,
                        const std::vector<Tensor>& visible) {
  TensorStatistics statistics;
  for (const Tensor& sample : visible) {
    statistics.observe(sample.view<float>());
  }
  const ExpectedError error(statistics);
  return least_cost_range(all, point.spec, 8, [&](const Range& range) {
    return error.sum_of_squares(to_quant_params({range}, point.spec));
  });
}

Range chosen_range(const QuantPoint& point, const std::vector<Tensor>& samples,
                   const std::vector<Tensor>& others) {
  if (point.calibrator.name == "max") {
    Range range{INFINITY, -INFINITY};
    for (const Tensor& sample : samples) {
      for (const float x : sample.view<float>()) {
        range.low = std::min(range.low, static_cast<double>(x));
        range.high = std::max(range.high, static_cast<double>(x));
      }
    }
    return range;
  }
  TensorStatistics statistics;
  for (const Tensor& sample : samples) {
    statistics.observe(sample.view<float>());
  }
  if (!others.empty()) {
    return least_error_range(point, statistics, visible_parts(samples, others));
  }
  for (const CalibratorInfo& info : Toolkit::builtin().calibrators) {
    if (info.name == point.calibrator.name) {
      return info.make(CalibratorOptions(point.calibrator.options))
          ->choose(statistics, point.spec);
    }
  }
  throw std::logic_error("no calibrator " + point.calibrator.name);
}

void expect_activation(const QuantPoint& point, const std::vector<Tensor>& samples,
                       const std::vector<Tensor>& others, const PointResult& result) {
  // A 4096th wider than chosen, so that ranges do not end at a multiple of earlier steps.
  const double wider = point.spec.power_of_two ? 1 : 1 + 1.0 / 4096;
  Range range = chosen_range(point, samples, others);
  range = {range.low * wider, range.high * wider};
  ASSERT_EQ(result.calibrated.size(), 1U);
  EXPECT_DOUBLE_EQ(result.calibrated[0].low, range.low);
  EXPECT_DOUBLE_EQ(result.calibrated[0].high, range.high);
  const PlainParams expected = plain_params(range, point.spec);
  EXPECT_FLOAT_EQ(result.params.scale[0], static_cast<float>(expected.scale));
  EXPECT_EQ(result.params.zero_point[0], expected.zero_point);
}

/// Of all networks, so that the tests say something.
struct Count {
  std::size_t points = 0;
  std::size_t rectified = 0;  ///< of which `mse` knows what a Relu behind a sum hides
  std::size_t outputs = 0;
  std::size_t outputs_unlike_plain = 0;
  std::size_t moved_integers = 0;
  std::size_t corrections = 0;
  std::size_t dropped_corrections = 0;
};

void expect_accumulator(const Decided& all, const QuantPoint& point) {
  const QuantParams& x = all.table.at(point.input).params;
  const QuantParams& w = all.table.at(point.weight).params;
  const QuantParams& sums = all.of(point).params;
  EXPECT_EQ(sums.storage, DType::kInt32);
  EXPECT_EQ(sums.per_axis(), w.per_axis());
  ASSERT_EQ(sums.scale.size(), w.scale.size());
  for (std::size_t i = 0; i < w.scale.size(); ++i) {
    EXPECT_EQ(sums.scale[i], x.scale[0] * w.scale[i]);
    EXPECT_EQ(sums.zero_point[i], 0);
  }
}

void expect_correction(const DecidedLayer& layer, const PointResult& result, Count& count) {
  const std::vector<double> lost = layer.lost_means(false);
  const std::vector<double> of_holdout = layer.lost_means(true);
  constexpr double kShare = 1.0 / kSamples;  // of the samples that are held out
  double without = 0;
  double with = 0;
  for (std::size_t c = 0; c < lost.size(); ++c) {
    const double from_others = (lost[c] - kShare * of_holdout[c]) / (1 - kShare);
    without += of_holdout[c] * of_holdout[c];
    with += (of_holdout[c] - from_others) * (of_holdout[c] - from_others);
  }
  if (with >= without) {
    EXPECT_TRUE(result.bias_correction.empty());
    ++count.dropped_corrections;
    return;
  }
  ++count.corrections;
  ASSERT_EQ(result.bias_correction.size(), lost.size());
  const double largest = std::abs(*std::max_element(
      lost.begin(), lost.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  for (std::size_t c = 0; c < lost.size(); ++c) {
    // The layer itself adds them up in float32, of errors and means that are rounded to it.
    EXPECT_NEAR(result.bias_correction[c], lost[c], 1e-4 * largest);
  }
}

void expect_scales(const DecidedLayer& layer, const PointResult& weight, bool power_of_two) {
  const std::vector<float> expected = layer.expected_scales(power_of_two);
  ASSERT_EQ(weight.params.scale.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(weight.params.scale[i], expected[i]);
    EXPECT_EQ(weight.params.zero_point[i], 0);
  }
}

void expect_rounding(const DecidedLayer& layer, Count& count) {
  std::vector<float> rows;
  const MatrixTask task{layer.task(rows), {}};
  const std::vector<float> weights = layer.weights_in_steps();
  const std::vector<float> integers = layer.integers();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    count.moved_integers += integers[i] != std::nearbyint(weights[i]) ? 1 : 0;
  }
  count.outputs += layer.outputs();
  count.outputs_unlike_plain += outputs_unlike_plain(task, weights, integers);
}

/// The accumulators that have both factors in the table.
std::vector<const QuantPoint*> complete(const SimulatedGraph& simulated,
                                        const QuantTable& table) {
  std::vector<const QuantPoint*> result;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator && !table.contains(point.name) &&
        table.contains(point.input) && table.contains(point.weight)) {
      result.push_back(&point);
    }
  }
  return result;
}

void expect_decisions(const Decided& all, Count& count) {
  const SimulatedGraph& simulated = all.simulated;
  QuantTable before;
  std::map<std::string, int> readers;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight) {
      before[point.name] = all.of(point);
      before[point.name].rounding.clear();
    } else if (point.role == Role::kAccumulator) {
      ++readers[point.weight];
    }
  }
  for (const QuantPoint* point : activations(simulated)) {
    SCOPED_TRACE(point->name);
    ++count.points;
    const Graph bound = tare::bind(simulated, before);
    const std::vector<Tensor> others = others_of(all, *point);
    count.rectified += others.empty() || point->calibrator.name == "max" ? 0 : 1;
    // Ranges in front of activation functions, such as relu(x + x), have tests of their own.
    if (activation_function(simulated.source, point->value).operators.empty()) {
      expect_activation(*point, samples_of(bound, all.data, point->simulated), others,
                        all.of(*point));
    }
    before[point->name] = all.of(*point);
    for (const QuantPoint* accumulator : complete(simulated, before)) {
      SCOPED_TRACE(accumulator->name);
      before[accumulator->name] = all.of(*accumulator);
      expect_accumulator(all, *accumulator);
      if (simulated.find(accumulator->weight)->role != Role::kWeight) {
        continue;  // a product of two activations
      }
      before[accumulator->weight] = all.table.at(accumulator->weight);
      const auto inputs = samples_of(bound, all.data, accumulator->simulated);
      const DecidedLayer layer(simulated, all.table, *accumulator, inputs);
      const QuantPoint& weight = *simulated.find(accumulator->weight);
      expect_scales(layer, all.of(weight), weight.spec.power_of_two);
      if (accumulator->rounds_weight && readers.at(accumulator->weight) == 1) {
        expect_rounding(layer, count);
      }
      if (accumulator->corrects_bias) {
        expect_correction(layer, all.of(*accumulator), count);
      }
    }
  }
  EXPECT_EQ(before.size(), all.table.size()) << "a point was not looked at";
}

Config calibrated_by(const std::string& calibrator) {
  Config config;
  config.objective = Objective::kCoverage;
  config.activations.calibrator.name = calibrator;
  return config;
}

TEST(SequentialDecisions, FollowFromThoseBeforeByPlainLoops) {
  Count count;
  for (std::uint32_t seed = 1; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    expect_decisions(decided(seed, calibrated_by(seed % 2 == 0 ? "max" : "mse")), count);
  }
  EXPECT_GT(count.points, 100U);
  EXPECT_GT(count.rectified, 1U);
  EXPECT_GT(count.outputs, 100U);
  EXPECT_GT(count.moved_integers, 500U);
  EXPECT_GT(count.corrections, 5U);
  EXPECT_GT(count.dropped_corrections, 2U);
  EXPECT_LT(count.outputs_unlike_plain, count.outputs / 20);
}

/// Two products of one input, which are decided together, and a Relu behind their sum.
Decided sum_of_two() {
  Random random(5);
  Graph graph = parse(R"(graph "g" opset 17 (%in : f32[1,4]) -> (%y) {
  const %w : f32[4,4] = [1, -7, 2, 0, 3, 1, -9, 2, -8, 0, 1, 1, 2, 1, -1, -6]
  const %v : f32[4,4] = [0, 2, 1, -5, 1, 0, 2, 1, 1, -4, 0, 2, -6, 1, 1, 0]
  const %u : f32[4,4] = [1, -1, 1, 1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1, 1, -1]
  %a = MatMul(%in, %w) : f32[1,4]
  %b = MatMul(%in, %v) : f32[1,4]
  %s = Add(%a, %b) : f32[1,4]
  %r = Relu(%s) : f32[1,4]
  %y = MatMul(%r, %u) : f32[1,4]
}
)");
  Decided result{
      simulated_with(graph, calibrated_by("mse")), random_samples(graph, kSamples, random), {}};
  result.table =
      calibrate_sequentially(result.simulated, result.data, Toolkit::builtin().calibrators);
  return result;
}

TEST(SequentialDecisions, KnowBothOperandsOfASumThatAreDecidedTogether) {
  Count count;
  expect_decisions(sum_of_two(), count);
  EXPECT_EQ(count.rectified, 2U);
}

TEST(SequentialDecisions, AreThoseOfATeam) {
  const Decided alone = sum_of_two();
  const auto tables = by_team(2, [&](Member& member) {
    return calibrate_sequentially(alone.simulated, alone.data, Toolkit::builtin().calibrators,
                                  {.communicator = &member});
  });
  for (const QuantTable& table : tables) {
    EXPECT_EQ(table, alone.table);
  }
}

TEST(SequentialDecisions, LeaveRangesForPowersOfTwoAsTheyWereChosen) {
  Config config = calibrated_by("max");
  config.activations.power_of_two = true;
  config.weights.power_of_two = true;
  Count count;
  for (std::uint32_t seed = 1; seed < 9; ++seed) {
    SCOPED_TRACE(seed);
    expect_decisions(decided(seed, config), count);
  }
  EXPECT_GT(count.points, 30U);
}

}  // namespace
}  // namespace tare::test
