// Accumulators of stated width in whole networks: what calibration sees, what runs, what is
// exported.

#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "lower/forms/forms.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Two convolutions, the second one grouped, strided and dilated, and a dense head.
Graph network() {
  Random random(5);
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 4, 9, 9}));
  const ValueId w1 = graph.add_constant("w1", random.tensor({8, 4, 3, 3}));
  const ValueId b1 = graph.add_constant("b1", random.tensor({8}));
  const ValueId w2 = graph.add_constant("w2", random.tensor({8, 2, 3, 3}));
  const ValueId w3 = graph.add_constant("w3", random.tensor({5, 128}));
  const ValueId c1 = add(graph, "Conv", {x, w1, b1}, {1, 8, 9, 9},
                         {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  const ValueId r1 = add(graph, "Relu", {c1}, {1, 8, 9, 9});
  const ValueId c2 = add(graph, "Conv", {r1, w2}, {1, 8, 4, 4},
                         {{"group", std::int64_t{4}},
                          {"strides", std::vector<std::int64_t>{2, 2}},
                          {"dilations", std::vector<std::int64_t>{2, 2}},
                          {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  const ValueId flat = add(graph, "Flatten", {c2}, {1, 128});
  graph.set_outputs({add(graph, "Gemm", {flat, w3}, {1, 5}, {{"transB", std::int64_t{1}}})});
  return graph;
}

struct Narrowed {
  Random random{6};
  SamplesInMemory data{{{"x", random.tensor({12, 4, 9, 9})}}};
  QuantizeResult result;

  explicit Narrowed(const Config& config) {
    result = quantize(network(), data, config, Toolkit::builtin());
  }
  Tensor run(const Graph& graph, std::size_t sample) const {
    return Executable(graph).run(std::vector<Tensor>{data.read("x", sample, 1)})[0];
  }
  int bits_needed() const {
    int most = 0;
    for (const AccumulatorRange& sums : worst_case_accumulators(result.integer)) {
      most = std::max(most, sums.range.bits());
    }
    return most;
  }
};

/// Rescaling is exact, so that nothing but the sums could make a difference.
Config exact_scales() {
  Config config;
  config.activations.power_of_two = true;
  config.weights.power_of_two = true;
  return config;
}

int count_stated(const Graph& graph) {
  int count = 0;
  for (const NodeId id : graph.nodes()) {
    count += states_accumulator(graph.node(id).attributes) ? 1 : 0;
  }
  return count;
}

TEST(NarrowAccumulators, OverflowInSimulationAsTheyDoInTheIntegerGraphBitForBit) {
  for (const Overflow overflow : {Overflow::kSaturate, Overflow::kWrap}) {
    for (const int bits : {11, 14, 16}) {
      Config config = exact_scales();
      config.accumulator = {bits, overflow};
      const Narrowed q(config);
      const Graph bound = tare::bind(q.result.simulated, q.result.table);
      int overflows = 0;
      for (std::size_t sample = 0; sample < q.data.size(); ++sample) {
        EXPECT_EQ(q.run(bound, sample), q.run(q.result.integer, sample));
        overflows += q.run(to_qdq(q.result.integer), sample) == q.run(bound, sample) ? 0 : 1;
      }
      EXPECT_GT(overflows, 0) << bits << " bits show nothing";
    }
  }
}

TEST(NarrowAccumulators, AreStatedByTheGraphsButNotByOperatorsOfFiles) {
  Config config;
  config.accumulator = {14, Overflow::kWrap};
  const Narrowed q(config);
  EXPECT_EQ(count_stated(q.result.simulated.graph), 3);
  EXPECT_EQ(count_stated(q.result.integer), 3);
  EXPECT_EQ(count_stated(to_qdq(q.result.integer)), 0);
  EXPECT_EQ(count_stated(lower_quantized(to_qdq(q.result.integer), config, Toolkit::builtin())),
            3);
}

TEST(NarrowAccumulators, StayFastInSimulationWhereNothingCanOverflow) {
  Config config;
  config.accumulator = {30, Overflow::kSaturate};
  const Narrowed q(config);
  EXPECT_EQ(count_stated(q.result.integer), 3);
  EXPECT_EQ(count_stated(tare::bind(q.result.simulated, q.result.table)), 0);
  EXPECT_EQ(count_stated(tare::bind(q.result.simulated, {})), 0) << "real values";
}

TEST(NarrowAccumulators, OfThirtyTwoBitsAreNotMentioned) {
  const Narrowed q(Config{});
  EXPECT_EQ(count_stated(q.result.simulated.graph) + count_stated(q.result.integer), 0);
}

TEST(AvoidOverflow, ChoosesScalesAtWhichNoInputOverflows) {
  for (const Schedule schedule : {Schedule::kSequential, Schedule::kIndependent}) {
    for (const int bits : {12, 14, 16}) {
      for (const Granularity granularity : {Granularity::kPerAxis, Granularity::kPerTensor}) {
        Config config;
        config.schedule = schedule;
        config.weights.granularity = granularity;
        config.accumulator = {bits, Overflow::kWrap};
        EXPECT_GT(Narrowed(config).bits_needed(), bits);
        config.avoid_overflow = true;
        const Narrowed q(config);
        EXPECT_LE(q.bits_needed(), bits);
        EXPECT_GT(q.bits_needed(), bits - 2) << "scales are wider than they need be";
        EXPECT_FALSE(q.result.table.at("w1").widened_channels.empty());
        for (std::size_t sample = 0; sample < q.data.size(); ++sample) {
          const Graph exact = lower_quantized(to_qdq(q.result.integer), {}, Toolkit::builtin());
          EXPECT_EQ(q.run(q.result.integer, sample), q.run(exact, sample));
        }
      }
    }
  }
}

TEST(AvoidOverflow, KeepsPowersOfTwo) {
  Config config = exact_scales();
  config.accumulator.bits = 14;
  config.avoid_overflow = true;
  const Narrowed q(config);
  EXPECT_LE(q.bits_needed(), 14);
  for (const float scale : q.result.table.at("w2").params.scale) {
    int exponent = 0;
    EXPECT_EQ(std::frexp(scale, &exponent), 0.5F);
  }
}

TEST(AvoidOverflow, LeavesWhatFitsAsItIs) {
  Config config;
  config.accumulator.bits = 24;
  const Narrowed before(config);
  config.avoid_overflow = true;
  EXPECT_EQ(Narrowed(config).result.table, before.result.table);
}

}  // namespace
}  // namespace tare::test
