
#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include "calibrate/calibrate.h"
#include "calibrate/selection/select_calibrators.h"
#include "simulate/fake_quantized.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random_network.h"
#include "support/run.h"
#include "support/simulated.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const CalibratorChoice kAuto{"auto", {}};

Config configured(const CalibratorChoice& calibrator) {
  Config config;
  config.activations.calibrator = calibrator;
  return config;
}

SimulatedGraph simulated_of(const Graph& graph, const CalibratorChoice& calibrator) {
  return simulated_with(graph, configured(calibrator));
}

/// Values with outliers, so that calibrators differ.
SamplesInMemory heavy_samples(const Graph& graph, std::uint32_t seed, std::int64_t count) {
  Random random(seed);
  std::map<std::string, Tensor> samples;
  for (const ValueId input : graph.inputs()) {
    Shape shape = graph.type(input).shape;
    shape[0] = count;
    Tensor values = random.tensor(shape);
    for (float& x : values.mutable_view<float>()) {
      x = x * x * x;
    }
    samples.emplace(graph.name(input), values);
  }
  return SamplesInMemory(samples);
}

Graph prepared_network(std::uint32_t seed) {
  Random random(seed);
  return prepare(random_network(random, 15), Toolkit::builtin());
}

/// For each sample the squared error of the results of the quantized network, each relative to
/// its magnitude in all samples.
std::vector<double> errors(const SimulatedGraph& simulated, const QuantTable& table,
                           const Dataset& data) {
  const Executable exact(simulated.source);
  const Executable quantized(tare::bind(simulated, table));
  const std::size_t results = simulated.source.outputs().size();
  std::vector<std::vector<double>> squared(data.size(), std::vector<double>(results));
  std::vector<double> magnitudes(results);
  for (std::size_t sample = 0; sample < data.size(); ++sample) {
    const std::vector<Tensor> inputs = inputs_of(simulated.source, data, sample);
    const auto a = exact.run(inputs);
    const auto b = quantized.run(inputs);
    for (std::size_t k = 0; k < results; ++k) {
      for (std::size_t i = 0; i < a[k].view<float>().size(); ++i) {
        const double x = a[k].view<float>()[i];
        squared[sample][k] += std::pow(x - static_cast<double>(b[k].view<float>()[i]), 2);
        magnitudes[k] += x * x;
      }
    }
  }
  std::vector<double> sums(data.size());
  for (std::size_t sample = 0; sample < data.size(); ++sample) {
    for (std::size_t k = 0; k < results; ++k) {
      sums[sample] += magnitudes[k] > 0 ? squared[sample][k] / magnitudes[k] : 0;
    }
  }
  return sums;
}

/// Their sum and how far those of other samples are typically off it.
double with_standard_error(const std::vector<double>& errors) {
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  const double mean = sum / static_cast<double>(errors.size());
  double squares = 0;
  for (const double error : errors) {
    squares += (error - mean) * (error - mean);
  }
  return sum + std::sqrt(squares);
}

QuantTable calibrated(const Graph& graph, const CalibratorChoice& calibrator,
                      const Dataset& data, const CalibrateOptions& options = {}) {
  return calibrate(simulated_of(graph, calibrator), data, Toolkit::builtin().calibrators,
                   options);
}

std::vector<CalibratorChoice> candidates() {
  for (const CalibratorInfo& info : Toolkit::builtin().calibrators) {
    if (info.name == "auto") {
      return info.candidates;
    }
  }
  return {};
}

class Auto : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Auto, LeavesNoMoreErrorInTheResultsThanAnyCalibratorThatItTries) {
  const Graph graph = prepared_network(GetParam());
  const SamplesInMemory data = heavy_samples(graph, GetParam(), 20);
  const SimulatedGraph simulated = simulated_of(graph, kAuto);
  const auto error_of = [&](const CalibratorChoice& calibrator) {
    return with_standard_error(errors(simulated, calibrated(graph, calibrator, data), data));
  };
  const double least = error_of(kAuto);
  const std::vector<CalibratorChoice> tried = candidates();
  ASSERT_FALSE(tried.empty());
  for (const CalibratorChoice& choice : tried) {
    // Trials run in real values, so that single values on the edge between two steps may fall
    // to the other side.
    EXPECT_LE(least, 1.01 * error_of(choice)) << choice.name;
  }
}

TEST_P(Auto, DoesNotDependOnThreads) {
  const Graph graph = prepared_network(GetParam());
  const SamplesInMemory data = heavy_samples(graph, GetParam(), 20);
  const QuantTable expected = calibrated(graph, kAuto, data, {.threads = 1});
  for (const int threads : {2, 3, 7}) {
    for (const auto& [name, result] : calibrated(graph, kAuto, data, {.threads = threads})) {
      EXPECT_EQ(result.params, expected.at(name).params) << name;
    }
  }
}

/// Tables that select_calibrators() asks for, made of those of each candidate alone.
class CandidateTables {
 public:
  CandidateTables(const Graph& graph, const Dataset& data)
      : simulated(simulated_of(graph, kAuto)) {
    for (const CalibratorChoice& choice : candidates()) {
      alone.push_back(calibrated(graph, choice, data));
    }
  }

  CandidateTable make(std::size_t primary) {
    primaries.push_back(primary);
    CandidateTable result{.primary = primary, .table = alone[primary]};
    for (const QuantPoint& point : simulated.points) {
      if (point.role == Role::kActivation) {
        for (const QuantTable& table : alone) {
          result.candidates[point.name].push_back(table.at(point.name));
        }
      }
    }
    return result;
  }

  QuantTable select(const Dataset& data, const SelectionLimits& limits, int threads = 1) {
    return select_calibrators(
        simulated, Toolkit::builtin().calibrators, data, {.threads = threads}, nullptr,
        [&](std::size_t primary, const CalibrateOptions&, CalibrationAudit*) {
          return make(primary);
        },
        limits);
  }

  SimulatedGraph simulated;
  std::vector<QuantTable> alone{};
  std::vector<std::size_t> primaries{};  ///< that were asked for
};

constexpr SelectionLimits kAnyIsLarge{.multiplications = 0, .runs = 0};

TEST_P(Auto, TriesTwoTablesAtMostInLargeNetworks) {
  const Graph graph = prepared_network(GetParam());
  const SamplesInMemory data = heavy_samples(graph, GetParam(), 20);
  CandidateTables tables(graph, data);
  tables.select(data, kAnyIsLarge);
  ASSERT_FALSE(tables.primaries.empty());
  EXPECT_EQ(tables.primaries.front(), 0U);
  EXPECT_LE(tables.primaries.size(), 2U);
  tables.primaries.clear();
  tables.select(data, {});
  EXPECT_EQ(tables.primaries.size(), candidates().size());
}

TEST_P(Auto, LeavesNoMoreErrorInLargeNetworksThanItsFirstCandidate) {
  const Graph graph = prepared_network(GetParam());
  const SamplesInMemory data = heavy_samples(graph, GetParam(), 8);  // it tries as many runs
  CandidateTables tables(graph, data);
  const auto error_of = [&](const QuantTable& table) {
    return with_standard_error(errors(tables.simulated, table, data));
  };
  // Trials run in real values, as above.
  EXPECT_LE(error_of(tables.select(data, kAnyIsLarge)), 1.01 * error_of(tables.alone.front()));
}

TEST_P(Auto, DoesNotDependOnThreadsInLargeNetworks) {
  const Graph graph = prepared_network(GetParam());
  const SamplesInMemory data = heavy_samples(graph, GetParam(), 20);
  CandidateTables tables(graph, data);
  const QuantTable expected = tables.select(data, kAnyIsLarge, 1);
  for (const auto& [name, result] : tables.select(data, kAnyIsLarge, 3)) {
    EXPECT_EQ(result.params, expected.at(name).params) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(RandomNetworks, Auto, ::testing::Range(1U, 9U));

TEST(AutoCalibrator, IsItsFirstCandidateWhereThereIsNoData) {
  const Graph graph = prepared_network(3);
  const SamplesInMemory data = heavy_samples(graph, 3, 10);
  const auto& calibrators = Toolkit::builtin().calibrators;
  const SimulatedGraph simulated = simulated_of(graph, kAuto);
  const QuantTable table = choose(simulated, collect(simulated, data), calibrators);
  for (const auto& [name, result] : calibrated(graph, candidates().front(), data)) {
    EXPECT_EQ(table.at(name).params, result.params) << name;
  }
}

TEST(FakeQuantizedGraphs, GiveWhatTheBoundGraphGivesAndTheFloatGraphWhenDisabled) {
  const Graph graph = prepared_network(4);
  const SamplesInMemory data = heavy_samples(graph, 4, 1);
  const SimulatedGraph simulated = simulated_of(graph, {"max", {}});
  const QuantTable table = calibrate(simulated, data, Toolkit::builtin().calibrators);
  const auto results = [&](const QuantTable& weights, bool on) {
    const FakeQuantizedGraph switches = fake_quantized_graph(simulated, weights, 1);
    std::vector<Tensor> inputs = inputs_of(graph, data, 0);
    for (const std::string& point : switches.points) {
      inputs.push_back(on ? enabled_point(table.at(point).params) : disabled_point());
    }
    return Executable(switches.graph).run(inputs);
  };
  const std::vector<Tensor> inputs = inputs_of(graph, data, 0);
  const auto distance = [](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      for (std::size_t i = 0; i < a[k].view<float>().size(); ++i) {
        sum += std::pow(static_cast<double>(a[k].view<float>()[i]) -
                            static_cast<double>(b[k].view<float>()[i]),
                        2);
      }
    }
    return sum;
  };
  const std::vector<Tensor> exact = Executable(graph).run(inputs);
  const std::vector<Tensor> bound = Executable(tare::bind(simulated, table)).run(inputs);
  const double cost = distance(exact, bound);
  // Rounding of float sums against rounding to 8 bits: 2^-16 of the size, squared.
  EXPECT_LE(distance(exact, results({}, false)), 0x1p-32 * cost);
  // Values on the edge between two steps may fall to either side, which are few.
  EXPECT_LE(distance(bound, results(table, true)), 0.1 * cost);
}

}  // namespace
}  // namespace tare::test
