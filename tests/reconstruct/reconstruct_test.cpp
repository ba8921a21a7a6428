#include "reconstruct/reconstruct.h"

#include "tare/error.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "calibrate/calibrate.h"
#include "reconstruct/float_network.h"
#include "simulate/fake_quantized.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "support/simulated.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kChannels = 4;  ///< of no image
constexpr std::int64_t kColours = 3;
constexpr std::int64_t kSide = 8;

/// Two convolutions with a way around them, then a pool and classes; weights have 3 bits.
Graph network(const std::string& between = "Relu", std::int64_t channels = kChannels) {
  Random random(1);
  Graph graph;
  const Shape image{1, channels, kSide, kSide};
  const auto convolve = [&](ValueId x) {
    const ValueId w =
        graph.add_constant(graph.unique_name("w"), random.tensor({channels, channels, 3, 3}));
    const ValueId b = graph.add_constant(graph.unique_name("b"), random.tensor({channels}));
    return add(graph, "Conv", {x, w, b}, image,
               {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  };
  const ValueId x = graph.add_input("x", f32(image));
  const ValueId first = add(graph, between, {convolve(x)}, image);
  const ValueId second = convolve(first);
  const ValueId sum = add(graph, "Relu", {add(graph, "Add", {second, x}, image)}, image);
  const ValueId pooled = add(graph, "GlobalAveragePool", {sum}, {1, channels, 1, 1});
  const ValueId flat = add(graph, "Flatten", {pooled}, {1, channels});
  const ValueId w = graph.add_constant("classes", random.tensor({channels, 5}));
  graph.set_outputs({add(graph, "Gemm", {flat, w}, {1, 5})});
  return graph;
}

/// Waves, so that neighbours are alike as they are in images.
SamplesInMemory samples(std::size_t count, std::uint32_t seed,
                        std::int64_t channels = kChannels) {
  Random random(seed);
  const std::int64_t each = channels * kSide * kSide;
  Tensor values(DType::kFloat32, {static_cast<std::int64_t>(count), channels, kSide, kSide});
  const auto elements = values.mutable_view<float>();
  for (std::size_t n = 0; n < count; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float phase = random.real() * std::numbers::pi_v<float>;
      const float down = random.real();
      const float right = random.real();
      for (std::int64_t i = 0; i < kSide * kSide; ++i) {
        const float place =
            down * static_cast<float>(i / kSide) + right * static_cast<float>(i % kSide);
        elements[n * static_cast<std::size_t>(each) +
                 static_cast<std::size_t>(c * kSide * kSide + i)] = std::sin(phase + place);
      }
    }
  }
  return SamplesInMemory({{"x", values}});
}

Config few_bits() {
  Config config;
  config.objective = Objective::kCoverage;
  config.weights.bits = 3;
  LayerRule classes;  // four weights each, which leave nothing to choose
  classes.op = "Gemm";
  classes.weights.bits = 8;
  config.layers.push_back(classes);
  return config;
}

/// Enough to see what is done, if not to do it well.
constexpr LearningSteps kFewSteps{.of_block = 150, .together = 20};

struct Calibrated {
  SimulatedGraph simulated;
  SamplesInMemory data;
  QuantTable table;

  explicit Calibrated(const Graph& graph, const Config& config = few_bits())
      : simulated(simulated_with(graph, config)),
        data(samples(64, 1, graph.type(graph.inputs()[0]).shape[1])),
        table(calibrate_sequentially(simulated, data, Toolkit::builtin().calibrators)) {}
};

/// Of the bound network on samples that nobody saw.
double squared_error(const SimulatedGraph& simulated, const QuantTable& table) {
  const Executable exact(simulated.source);
  const Executable quantized(bind(simulated, table));
  const SamplesInMemory data = samples(32, 99);
  double sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::vector<Tensor> inputs{data.read("x", i, 1)};
    const Tensor wanted = exact.run(inputs)[0];
    const Tensor got = quantized.run(inputs)[0];
    for (std::size_t k = 0; k < wanted.view<float>().size(); ++k) {
      const double off = static_cast<double>(got.view<float>()[k] - wanted.view<float>()[k]);
      sum += off * off;
    }
  }
  return sum;
}

TEST(Reconstruct, LowersTheErrorOnSamplesThatItDidNotSee) {
  const Calibrated c(network());
  const double before = squared_error(c.simulated, c.table);
  for (const Grain grain : {Grain::kLayer, Grain::kBlock}) {
    CalibrationAudit audit;
    const QuantTable table =
        reconstruct(c.simulated, c.table, c.data, grain, {}, &audit, nullptr,
                    LearningSteps{.of_block = 1000, .together = 100});
    ASSERT_TRUE(audit.reconstruction);
    EXPECT_GT(audit.reconstruction->improved, 0U);
    EXPECT_LE(audit.reconstruction->improved, audit.reconstruction->blocks);
    EXPECT_LT(audit.reconstruction->error, 1);
    EXPECT_LT(squared_error(c.simulated, table), before);
  }
}

/// Probabilities would hide the errors of samples that the network is sure of.
TEST(Reconstruct, LooksAtTheScoresBelowASoftmax) {
  Graph graph = network();
  const ValueId scores = graph.outputs()[0];
  graph.set_outputs({add(graph, "Softmax", {scores}, {1, 5})});
  const SimulatedGraph simulated = simulated_with(graph, few_bits());
  const FloatNetwork learned(simulated);
  for (const NodeId id : learned.graph().nodes()) {
    EXPECT_NE(learned.graph().node(id).op, "Softmax");
  }
}

TEST(Reconstruct, TakesFewerStepsOfNetworksThatTakeLong) {
  const auto product = [](std::int64_t rows, std::int64_t width) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({rows, width}));
    const ValueId w = graph.add_constant("w", Tensor(DType::kFloat32, {width, width}));
    graph.set_outputs({add(graph, "MatMul", {x, w}, {rows, width})});
    return graph;
  };
  EXPECT_EQ(usual_steps(product(1, 8)).of_block, 5000U);
  EXPECT_EQ(usual_steps(product(100, 1000)).of_block, 2000U);
  EXPECT_EQ(usual_steps(product(100, 1000)).together, 200U);
  EXPECT_EQ(usual_steps(product(100'000, 1000)).of_block, 200U);
}

/// Neither from mixtures nor from images that are moved.
TEST(Reconstruct, DoesNotDependOnThreads) {
  for (const std::int64_t channels : {kChannels, kColours}) {
    const Calibrated c(network("Relu", channels));
    const auto learned = [&](int threads) {
      return reconstruct(c.simulated, c.table, c.data, Grain::kBlock, {.threads = threads},
                         nullptr, nullptr, kFewSteps);
    };
    const QuantTable one = learned(1);
    EXPECT_NE(one, c.table);
    for (const int threads : {2, 5}) {
      EXPECT_EQ(learned(threads), one);
    }
  }
}

/// Scales of accumulators are those of their factors.
TEST(Reconstruct, LeavesATableThatHoldsTogether) {
  const Calibrated c(network());
  const QuantTable table =
      reconstruct(c.simulated, c.table, c.data, Grain::kBlock, {}, nullptr, nullptr, kFewSteps);
  for (const QuantPoint& point : c.simulated.points) {
    const PointResult& result = table.at(point.name);
    if (point.role == Role::kAccumulator) {
      const auto& scales = table.at(point.weight).params.scale;
      for (std::size_t i = 0; i < scales.size(); ++i) {
        EXPECT_EQ(result.params.scale[i], scales[i] * table.at(point.input).params.scale[0]);
      }
    }
    EXPECT_EQ(result.params.zero_point, c.table.at(point.name).params.zero_point);
  }
}

TEST(Reconstruct, KeepsScalesThatAreToBePowersOfTwo) {
  Config config = few_bits();
  config.weights.power_of_two = true;
  config.activations.power_of_two = true;
  const Calibrated c(network(), config);
  const QuantTable table =
      reconstruct(c.simulated, c.table, c.data, Grain::kBlock, {}, nullptr, nullptr, kFewSteps);
  for (const auto& [name, result] : table) {
    EXPECT_EQ(result.params.scale, c.table.at(name).params.scale) << name;
  }
}

/// What it cannot differentiate stays as it was.
TEST(Reconstruct, LeavesBlocksWithoutADerivativeAlone) {
  const Calibrated c(network("Floor"));
  CalibrationAudit audit;
  const QuantTable table =
      reconstruct(c.simulated, c.table, c.data, Grain::kBlock, {}, &audit, nullptr, kFewSteps);
  ASSERT_TRUE(audit.reconstruction);
  EXPECT_LT(audit.reconstruction->improved, audit.reconstruction->blocks);
}

/// Keeps what is added, and may forget the end of it.
class Journal final : public LevelJournal {
 public:
  std::optional<LevelDecisions> next() override {
    return place_ < all_.size() ? std::optional(all_[place_++]) : std::nullopt;
  }
  void add(const LevelDecisions& decisions) override {
    all_.push_back(decisions);
    place_ = all_.size();
  }
  std::size_t size() const { return all_.size(); }
  void begin_again(std::size_t known) {
    all_.resize(known);
    place_ = 0;
  }

 private:
  std::vector<LevelDecisions> all_;
  std::size_t place_ = 0;
};

TEST(Reconstruct, ResumesFromAJournal) {
  const Calibrated c(network());
  Journal journal;
  const auto run = [&] {
    return reconstruct(c.simulated, c.table, c.data, Grain::kLayer, {}, nullptr, &journal,
                       kFewSteps);
  };
  const QuantTable whole = run();
  const std::size_t records = journal.size();
  ASSERT_GT(records, 2U);
  for (std::size_t known = 0; known <= records; ++known) {
    journal.begin_again(known);
    EXPECT_EQ(run(), whole) << known;
    EXPECT_EQ(journal.size(), records);
  }
}

TEST(Reconstruct, StopsWhereProgressThrows) {
  const Calibrated c(network());
  CalibrateOptions options;
  options.progress = [](std::size_t done, std::size_t total) {
    ASSERT_LT(done, total);
    if (done == 3) {
      throw Error(ErrorCode::kIo, "test", "is interrupted");
    }
  };
  EXPECT_THROW(reconstruct(c.simulated, c.table, c.data, Grain::kBlock, options), Error);
}

TEST(Quantize, ReconstructsWhereTheConfigurationAsksForIt) {
  const SamplesInMemory data = samples(64, 1);
  Config config = few_bits();
  const auto learned = [&] {
    return quantize(network(), data, config, Toolkit::builtin())
        .audit.reconstruction.has_value();
  };
  EXPECT_FALSE(learned());
  config.reconstruction = Reconstruction::kBlock;
  EXPECT_TRUE(learned());
  config.reconstruction = Reconstruction::kNone;
  config.effort = Effort::kBest;
  EXPECT_FALSE(learned());
  config.reconstruction.reset();
  EXPECT_TRUE(learned());  // fewer than 8 bits
  config.weights.bits.reset();
  config.layers.clear();
  EXPECT_FALSE(learned());
}

}  // namespace
}  // namespace tare::test
