
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "calibrate/calibrate.h"
#include "calibrate/rounding/accumulators.h"
#include "calibrate/rounding/layer_rows.h"
#include "calibrate/rounding/round_weights.h"
#include "calibrate/selection/choose.h"
#include "support/graphs.h"
#include "support/random_network.h"
#include "support/samples_in_memory.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A simulated graph and samples for it.
struct Case {
  SimulatedGraph simulated;
  SamplesInMemory data;
};

Case random_case(std::uint32_t seed, const Config& config = {}) {
  Random random(seed);
  const Toolkit& toolkit = Toolkit::builtin();
  const Graph graph = prepare(random_network(random, 20), toolkit);
  std::map<std::string, Tensor> samples;
  for (const ValueId input : graph.inputs()) {
    Shape shape = graph.type(input).shape;
    shape[0] = 6;
    samples.emplace(graph.name(input), random.tensor(shape));
  }
  return {simulate(graph, config, read_target(config.target), toolkit.patterns),
          SamplesInMemory(samples)};
}

Config configured(const std::string& calibrator) {
  Config config;
  config.activations.calibrator.name = calibrator;
  return config;
}

std::unique_ptr<const Calibrator> calibrator_of(const QuantPoint& point) {
  for (const CalibratorInfo& info : Toolkit::builtin().calibrators) {
    if (info.name == point.calibrator.name) {
      return info.make(CalibratorOptions(point.calibrator.options));
    }
  }
  return nullptr;
}

/// What one value of the bound graph is on all samples.
struct Seen {
  TensorStatistics values;
  ChannelStatistics channels;
  ChannelStatistics every_fourth;  ///< of every fourth sample

  ChannelMeans means() const {
    if (every_fourth.elements() == 0) {
      return {channels.means()};
    }
    return {channels.means(), every_fourth.means(),
            static_cast<double>(every_fourth.elements()) /
                static_cast<double>(channels.elements())};
  }
};

Seen observe(const Graph& bound, const Dataset& data, ValueId value,
             LayerRows* rows = nullptr) {
  const Executable executable(bound, {.observe = {value}});
  Executable::Workspace workspace(executable);
  Seen observed;
  for (std::size_t sample = 0; sample < data.size(); ++sample) {
    std::vector<Tensor> inputs;
    for (const ValueId input : bound.inputs()) {
      inputs.push_back(data.read(bound.name(input), sample, 1));
    }
    (void)executable.run(workspace, inputs, [&](std::size_t, const TensorView& view) {
      const Tensor tensor = view.tensor();
      observed.values.observe(tensor.view<float>());
      if (tensor.shape().size() >= 2) {
        observed.channels.observe(view);
        if (sample % 4 == 3) {
          observed.every_fourth.observe(view);
        }
      }
      if (rows != nullptr) {
        rows->observe(sample, view);
      }
    });
  }
  return observed;
}

std::size_t readers(const SimulatedGraph& simulated, const std::string& weight) {
  return static_cast<std::size_t>(
      std::count_if(simulated.points.begin(), simulated.points.end(),
                    [&](const QuantPoint& point) { return point.weight == weight; }));
}

/// The schedule by its definition: one point after another, in the order of the graph, each
/// from a run of the whole graph with all points before it switched on.
QuantTable naive(const Case& c) {
  const SimulatedGraph& simulated = c.simulated;
  QuantTable table;
  std::vector<const QuantPoint*> open;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight) {
      // Weights do not depend on the schedule.
      table[point.name] =
          calibrate(simulated, c.data, Toolkit::builtin().calibrators).at(point.name);
    } else if (point.role == Role::kActivation) {
      open.push_back(&point);
    }
  }
  std::map<ValueId, std::size_t> position;
  for (const ValueId input : simulated.graph.inputs()) {
    position[input] = 0;
  }
  for (const NodeId id : simulated.graph.topological_order()) {
    for (const ValueId output : simulated.graph.node(id).outputs) {
      position.emplace(output, position.size());
    }
  }
  std::stable_sort(open.begin(), open.end(), [&](const QuantPoint* a, const QuantPoint* b) {
    return position.at(a->simulated) < position.at(b->simulated);
  });
  for (const QuantPoint* point : open) {
    const Graph bound = tare::bind(simulated, table);
    const TensorStatistics observed = observe(bound, c.data, point->simulated).values;
    PointResult result;
    result.calibrator = point->calibrator.name;
    result.calibrated = {calibrator_of(*point)->choose(observed, point->spec)};
    avoid_rounding_ties(point->spec, Toolkit::builtin().calibrators, result);
    std::vector<const QuantPoint*> accumulators;
    InputMeans means;
    std::map<const QuantPoint*, LayerRows> layers;
    for (const QuantPoint& other : simulated.points) {
      const bool both = other.role == Role::kAccumulator &&
                        (other.input == point->name || table.contains(other.input)) &&
                        (other.weight == point->name || table.contains(other.weight));
      if (both && !table.contains(other.name)) {
        accumulators.push_back(&other);
        if (other.corrects_bias) {
          means[other.name] = observe(bound, c.data, other.simulated).means();
        }
        const Node& layer = simulated.source.node(*other.reader);
        if (other.rounds_weight && layer_matrix(simulated.source, layer) &&
            readers(simulated, other.weight) == 1) {
          LayerRows rows(simulated.source, layer, c.data.size());
          (void)observe(bound, c.data, other.simulated, &rows);
          layers.emplace(&other, std::move(rows));
        }
      }
    }
    table[point->name] = result;
    derive_accumulators(simulated, accumulators, {}, table);
    for (const auto& [accumulator, rows] : layers) {
      round_weights(simulated, *accumulator, rows, 1, table);
    }
    derive_accumulators(simulated, accumulators, means, table);
  }
  return table;
}

void expect_same_decisions(const QuantTable& table, const QuantTable& expected) {
  ASSERT_EQ(table.size(), expected.size());
  for (const auto& [name, result] : expected) {
    ASSERT_TRUE(table.contains(name)) << name;
    EXPECT_EQ(table.at(name).params, result.params) << name;
    EXPECT_EQ(table.at(name).bias_correction, result.bias_correction) << name;
    EXPECT_EQ(table.at(name).rounding, result.rounding) << name;
  }
}

class Sequential : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Sequential, DecidesWhatRunningTheWholeGraphForEveryPointDecides) {
  for (const std::string calibrator : {"max", "mse"}) {
    const Case c = random_case(GetParam(), configured(calibrator));
    const QuantTable table =
        calibrate_sequentially(c.simulated, c.data, Toolkit::builtin().calibrators);
    expect_same_decisions(table, naive(c));
  }
}

TEST_P(Sequential, DoesNotDependOnThreadsOrMemory) {
  const Case c = random_case(GetParam());
  const auto& calibrators = Toolkit::builtin().calibrators;
  const QuantTable expected =
      calibrate_sequentially(c.simulated, c.data, calibrators, {.threads = 1});
  for (const int threads : {2, 3, 7}) {
    // Nothing in memory, a sample or two of each level, everything.
    for (const std::size_t memory :
         {std::size_t{0}, std::size_t{2000}, std::size_t{1} << 30U}) {
      expect_same_decisions(calibrate_sequentially(c.simulated, c.data, calibrators,
                                                   {.threads = threads, .memory = memory}),
                            expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RandomGraphs, Sequential, ::testing::Range(1U, 13U));

TEST(SequentialSchedule, SeesTheErrorOfTheLayersBefore) {
  // The second convolution of a chain reads clipped values.
  Random random(1);
  Graph graph;
  const Shape shape{1, 4, 6, 6};
  const ValueId x = graph.add_input("x", f32(shape));
  const ValueId a = graph.add_constant("a", random.tensor({4, 4, 1, 1}));
  const ValueId b = graph.add_constant("b", random.tensor({4, 4, 1, 1}));
  const ValueId y = add(graph, "Conv", {x, a}, shape);
  graph.set_outputs({add(graph, "Conv", {y, b}, shape)});
  Config config = configured("percent_of_max");
  config.activations.calibrator.options["percent"] = 50;
  const Toolkit& toolkit = Toolkit::builtin();
  const SimulatedGraph simulated =
      simulate(graph, config, read_target("ort-cpu"), toolkit.patterns);
  const SamplesInMemory data({{"x", random.tensor({8, 4, 6, 6})}});
  const auto reach = [&](const QuantTable& table) {
    return table.at(graph.name(y)).observed[0].high;
  };
  EXPECT_LT(reach(calibrate_sequentially(simulated, data, toolkit.calibrators)),
            reach(calibrate(simulated, data, toolkit.calibrators)));
}

TEST(SequentialSchedule, LeavesARangeThatTheUserGaveAsItIs) {
  Config config = configured("fixed");
  config.activations.calibrator.options = {{"low", 0}, {"high", 6}};
  const Case c = random_case(1, config);
  for (const auto& [name, result] :
       calibrate_sequentially(c.simulated, c.data, Toolkit::builtin().calibrators)) {
    if (c.simulated.find(name)->role == Role::kActivation) {
      EXPECT_EQ(result.calibrated[0], (Range{0, 6})) << name;
    }
  }
}

TEST(SequentialSchedule, ReportsProgressOfEveryLevelToTheEnd) {
  const Case c = random_case(2);
  std::size_t last = 0;
  std::size_t total = 0;
  (void)calibrate_sequentially(
      c.simulated, c.data, Toolkit::builtin().calibrators,
      {.threads = 2, .progress = [&](std::size_t done, std::size_t of) {
         EXPECT_GT(done, last);
         last = done;
         total = of;
       }});
  EXPECT_EQ(last, total);
  EXPECT_EQ(total % c.data.size(), 0U);
}

}  // namespace
}  // namespace tare::test
