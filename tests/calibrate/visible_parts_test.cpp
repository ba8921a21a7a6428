// What statistics hold of values whose sum with another a Relu reads, against plain loops over
// what the float network computes, and what the independent schedule makes of it.
#include "tare/graph.h"
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "calibrate/calibrate.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random_network.h"
#include "support/run.h"
#include "support/simulated.h"
#include "support/team.h"
#include "support/visible_part.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kSamples = 6;

struct Network {
  SimulatedGraph simulated;
  SamplesInMemory data;

  Statistics collected(const CalibrateOptions& options = {}) const {
    return collect(simulated, data, options);
  }
  bool is_unified(const std::string& point) const {
    const auto& groups = simulated.unified;
    return std::any_of(groups.begin(), groups.end(), [&](const auto& names) {
      return std::find(names.begin(), names.end(), point) != names.end();
    });
  }
  /// Of values that have a point, part by part as the test has them.
  std::map<std::string, TensorStatistics> visible() const {
    std::map<std::string, TensorStatistics> result;
    for (std::size_t sample = 0; sample < data.size(); ++sample) {
      const Graph& graph = simulated.source;
      auto values = values_of(graph, inputs_of(graph, data, sample));
      for (const QuantPoint& point : simulated.points) {
        if (point.role != Role::kActivation) {
          continue;
        }
        const std::string& name = graph.name(point.value);
        const std::string other = other_operand(graph, name);
        if (!other.empty()) {
          result[name].observe(visible_part(values.at(name), values.at(other)).view<float>());
        }
      }
    }
    return result;
  }
};

Config by_mse() {
  Config config;
  config.objective = Objective::kCoverage;
  config.activations.calibrator.name = "mse";
  return config;
}

Network network(std::uint32_t seed) {
  Random random(seed);
  const Graph graph = prepare(random_network(random, 20), Toolkit::builtin());
  return {simulated_with(graph, by_mse()), random_samples(graph, kSamples, random)};
}

/// The first of these that has such a sum.
Network network_with_sum() {
  for (std::uint32_t seed = 1;; ++seed) {
    Network result = network(seed);
    if (!result.visible().empty()) {
      return result;
    }
  }
}

TEST(VisibleParts, AreThoseByPlainLoops) {
  std::size_t parts = 0;
  for (std::uint32_t seed = 1; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Network any = network(seed);
    const auto visible = any.visible();
    EXPECT_EQ(any.collected().visible, visible);
    parts += visible.size();
  }
  EXPECT_GT(parts, 5U);
}

TEST(VisibleParts, AreTheSameInPartsByThreadsAndByTeams) {
  const Network any = network_with_sum();
  const Statistics whole = any.collected();
  EXPECT_FALSE(whole.visible.empty());
  EXPECT_EQ(any.collected({.threads = 3}), whole);
  const Statistics first = any.collected({.samples = 2});
  EXPECT_EQ(collect(any.simulated, any.data, {}, first), whole);
  Statistics merged = any.collected({.first = 2});
  merge(first, merged);
  EXPECT_EQ(merged, whole);
  for (const Statistics& of_member :
       by_team(3, [&](Member& member) { return any.collected({.communicator = &member}); })) {
    EXPECT_EQ(of_member, whole);
  }
}

TEST(VisibleParts, AreNotGoneOnWithWhereTheFirstSamplesHaveNone) {
  const Network any = network_with_sum();
  Statistics older = any.collected({.samples = 2});
  older.visible.clear();
  const Statistics all = collect(any.simulated, any.data, {}, older);
  EXPECT_TRUE(all.visible.empty());
  EXPECT_EQ(all.values, any.collected().values);
}

TEST(VisibleParts, AreWhatRangesHaveTheLeastErrorOf) {
  std::size_t moved = 0;
  for (std::uint32_t seed = 1; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Network any = network(seed);
    Statistics statistics = any.collected();
    const auto& calibrators = Toolkit::builtin().calibrators;
    const QuantTable table = choose(any.simulated, statistics, calibrators);
    const auto visible = std::move(statistics.visible);
    statistics.visible.clear();
    const QuantTable by_values = choose(any.simulated, statistics, calibrators);
    for (const auto& [name, part] : visible) {
      const PointResult& result = table.at(name);
      const PointResult& other = by_values.at(name);
      if (any.is_unified(name)) {
        continue;  // the range is not its own
      }
      const ExpectedError error(part);
      EXPECT_LE(error.sum_of_squares(result.params),
                error.sum_of_squares(other.params) * (1 + 1e-3))
          << name;
      moved += result.params == other.params ? 0 : 1;
    }
  }
  EXPECT_GT(moved, 2U);
}

}  // namespace
}  // namespace tare::test
