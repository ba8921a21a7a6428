#include "search/sensitivities.h"

#include "support/files/digits.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/team.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kSamples = 8;

class Sensitivities : public ::testing::Test {
 protected:
  Sensitivities() {
    Config config;
    config.slowdown = 0;
    result_ = quantize(digits_.model, *digits_.data, config, Toolkit::builtin(),
                       {.samples = kSamples});
    for (const QuantPoint& point : result_.simulated.points) {
      if (point.role != Role::kAccumulator) {
        names_.insert(point.name);
      }
    }
  }

  std::map<std::string, double> errors(int threads = 0) const {
    return sensitivities(result_.simulated, result_.table, names_, *digits_.data,
                         {.threads = threads, .samples = kSamples}, kSamples);
  }

  /// Squared error of the results over their squared magnitude, with those points alone.
  double error_of(const QuantTable& enabled) const {
    double error = 0;
    double magnitude = 0;
    std::vector<std::vector<float>> exact;
    run_dataset(result_.simulated.source, *digits_.data, 1, kSamples,
                [&](std::size_t, std::vector<Tensor> outputs) {
                  exact.push_back(outputs[0].to_float());
                });
    run_dataset(tare::bind(result_.simulated, enabled), *digits_.data, 1, kSamples,
                [&](std::size_t run, std::vector<Tensor> outputs) {
                  const std::vector<float> values = outputs[0].to_float();
                  for (std::size_t i = 0; i < values.size(); ++i) {
                    const auto real = static_cast<double>(exact[run][i]);
                    error += std::pow(static_cast<double>(values[i]) - real, 2);
                    magnitude += real * real;
                  }
                });
    return error / magnitude;
  }

  Digits digits_;
  QuantizeResult result_;
  std::set<std::string> names_;
};

TEST_F(Sensitivities, AreThoseOfTheSimulatedNetworkWithThatPointAlone) {
  for (const auto& [name, error] : errors()) {
    const QuantPoint& point = *result_.simulated.find(name);
    if (point.role == Role::kActivation) {
      // Sums in another order may take a value that is halfway between two steps to the other
      // one: a few of thousands.
      EXPECT_NEAR(error, error_of({{name, result_.table.at(name)}}), 0.05 * error) << name;
    }
  }
}

/// With fewer samples than processes these share the points.
TEST_F(Sensitivities, AreTheSameInTeamsOfAnySize) {
  const auto of = [&](std::size_t samples, Communicator* team) {
    return sensitivities(result_.simulated, result_.table, names_, *digits_.data,
                         {.threads = 1, .samples = kSamples, .communicator = team}, samples);
  };
  for (const std::size_t samples : {std::size_t{1}, std::size_t{2}, kSamples}) {
    const auto alone = of(samples, nullptr);
    for (const int members : {2, 3}) {
      for (const auto& found :
           by_team(members, [&](Member& member) { return of(samples, &member); })) {
        EXPECT_EQ(found, alone) << samples << " samples, " << members << " members";
      }
    }
  }
}

TEST_F(Sensitivities, NearlyAddUpToThatOfAllTogether) {
  double sum = 0;
  for (const auto& [name, error] : errors()) {
    sum += error;
  }
  const double whole = error_of(result_.table);
  EXPECT_GT(sum, whole / 2);
  EXPECT_LT(sum, whole * 2);
}

TEST_F(Sensitivities, DoNotDependOnTheNumberOfThreads) {
  EXPECT_EQ(errors(1), errors(3));
}

TEST_F(Sensitivities, GoOnFromThoseThatAreKnown) {
  const tare::Sensitivities whole = errors();
  struct Enough {};
  std::size_t told = 0;
  for (const std::size_t rounds : {1, 2, 4}) {
    tare::Sensitivities known;
    MeasuredSensitivities measured{.more = [&](const tare::Sensitivities& so_far) {
      known = so_far;
      if (++told % rounds == 0) {
        throw Enough{};
      }
    }};
    tare::Sensitivities found;
    while (found.empty()) {
      const std::size_t before = known.size();
      measured.known = known;
      try {
        found = sensitivities(result_.simulated, result_.table, names_, *digits_.data,
                              {.samples = kSamples}, kSamples, measured);
      } catch (const Enough&) {
        ASSERT_GT(known.size(), before);
        ASSERT_LE(known.size(), whole.size());
      }
    }
    EXPECT_EQ(found, whole) << rounds;
  }
  EXPECT_GT(told, 3 * 3U) << "errors came all at once";
}

TEST_F(Sensitivities, ThatAreKnownAreNotMeasuredAgain) {
  tare::Sensitivities known = errors();
  known.begin()->second = 7;
  known.emplace("of another way to call it", 8);
  const tare::Sensitivities found =
      sensitivities(result_.simulated, result_.table, names_, *digits_.data,
                    {.samples = kSamples}, kSamples, {.known = known});
  known.erase("of another way to call it");
  EXPECT_EQ(found, known);
}

TEST_F(Sensitivities, AreMeasuredWhereAskedForOnly) {
  const std::string one = *names_.begin();
  const auto some = sensitivities(result_.simulated, result_.table, {one}, *digits_.data,
                                  {.samples = kSamples}, kSamples);
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some.begin()->first, one);
  EXPECT_EQ(some.begin()->second, errors().at(one));
}

/// Convolutions that hardly change what they read.
Graph long_chain(int length) {
  const TensorType type = f32({1, 2, 2, 2});
  Graph graph;
  ValueId value = graph.add_input("x", type);
  for (int i = 0; i < length; ++i) {
    const std::string name = std::to_string(i);
    const float turn = 0.01F * static_cast<float>(i % 7 - 3);
    const ValueId weight =
        graph.add_constant("w" + name, Tensor::of<float>({2, 2, 1, 1}, {1, turn, -turn, 1}));
    value = graph.node(graph.add_node("", "Conv", {value, weight}, {{"c" + name, type}}))
                .outputs[0];
  }
  graph.set_outputs({value});
  return graph;
}

TEST(SensitivitiesOfManyPoints, FindTheWorstOneAndShareOutTheOthers) {
  const Graph graph = long_chain(400);
  constexpr std::int64_t kEnough = 64;  // for as many trials as there may be
  Tensor samples(DType::kFloat32, {kEnough, 2, 2, 2});
  for (std::size_t i = 0; i < 8 * kEnough; ++i) {
    samples.mutable_view<float>()[i] = static_cast<float>(static_cast<int>(i * 37 % 29) - 14);
  }
  const SamplesInMemory data({{"x", samples}});
  Config config;
  config.objective = Objective::kCoverage;
  config.effort = Effort::kFast;
  QuantizeResult result = quantize(graph, data, config, Toolkit::builtin());
  for (float& scale : result.table.at("w123").params.scale.mutable_view()) {
    scale *= 50;
  }
  std::set<std::string> names;
  for (const QuantPoint& point : result.simulated.points) {
    if (point.role != Role::kAccumulator) {
      names.insert(point.name);
    }
  }
  const auto errors = [&](const std::set<std::string>& points, int threads) {
    return sensitivities(result.simulated, result.table, points, data, {.threads = threads}, 4);
  };
  const tare::Sensitivities found = errors(names, 1);
  EXPECT_EQ(found.size(), names.size());
  EXPECT_EQ(found.at("w123"), errors({"w123"}, 1).at("w123"));
  std::set<double> different;
  for (const auto& [name, error] : found) {
    different.insert(error);
    if (name != "w123") {
      EXPECT_LT(error, found.at("w123")) << name;
    }
  }
  EXPECT_GT(different.size(), 100U);
  EXPECT_LT(different.size(), names.size() / 2) << "most have the error of some neighbours";
  EXPECT_EQ(errors(names, 3), found);
  const tare::Sensitivities again = sensitivities(result.simulated, result.table, names, data,
                                                  {.threads = 1}, 4, {.known = {{"w123", 7}}});
  EXPECT_EQ(again, found) << "what is shared out does not depend on what was known before";
}

}  // namespace
}  // namespace tare::test
