#include "search/mixed_precision.h"

#include "tare/quantize.h"

#include "simulate/placement/assigner.h"
#include "simulate/placement/assignment.h"
#include "support/random/random.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What becomes of the results of integer kernels.
enum class Results : std::uint8_t {
  kQuantized,     ///< each is, and converted where it is read in float
  kAsTheyAreRead  ///< quantized where the reader is on integers, else float as they are
};

std::string name_of(Results results) {
  return results == Results::kQuantized ? "Quantized" : "AsTheyAreRead";
}

/// Products take a nanosecond per multiplication in float and half of that on integers, and a
/// conversion takes one per element.
Target simple_target(Results results) {
  const bool quantized = results == Results::kQuantized;
  Target target = read_target("ort-cpu");
  target.name = "test";
  target.patterns = {"conv", "add"};
  target.operators = {{.op = "Conv",
                       .quantized_result = quantized,
                       .floats = {.work = 1},
                       .integers = {.work = 0.5}},
                      {.op = "Add",
                       .quantized_result = quantized,
                       .floats = {.work = 1},
                       .integers = {.work = 1}}};
  target.conversion = {.call = 0, .element = 1, .layout = 0};
  target.least_gain = 0;
  target.keep_float.clear();
  return target;
}

/// Five convolutions, of 100 to 500 multiplications per position, with a branch.
Graph branching() {
  std::string constants;
  const auto weight = [&](const char* name, int outputs, int inputs) {
    constants += "const %" + std::string(name) + " : f32[" + std::to_string(outputs) + "," +
                 std::to_string(inputs) + ",1,1] = [1";
    for (int i = 1; i < outputs * inputs; ++i) {
      constants += i % 7 == 0 ? ", -1" : ", 0.25";
    }
    constants += "]\n";
  };
  weight("wa", 10, 10);
  weight("wb", 20, 10);
  weight("wc", 20, 20);
  weight("wd", 20, 10);
  weight("we", 10, 20);
  return parse("graph \"g\" opset 17 (%x : f32[1,10,2,2]) -> (%e) {\n" + constants +
               "%a = Conv(%x, %wa) : f32[1,10,2,2]\n"
               "%b = Conv(%a, %wb) : f32[1,20,2,2]\n"
               "%c = Conv(%b, %wc) : f32[1,20,2,2]\n"
               "%d = Conv(%a, %wd) : f32[1,20,2,2]\n"
               "%s = Add(%c, %d) : f32[1,20,2,2]\n"
               "%e = Conv(%s, %we) : f32[1,10,2,2]\n}");
}

/// What is on integers in the network above, and what follows from that by plain sums.
struct Placement {
  Results results = Results::kQuantized;
  std::set<std::string> on_integers{};

  bool has(const std::string& node) const { return on_integers.contains(node); }
  /// Of multiplications, of additions, and of conversions where one side has floats.
  double nanoseconds() const {
    double sum = 0;
    for (const auto& [name, multiplications] : kConvolutions) {
      sum += (has(name) ? 0.5 : 1) * multiplications;
    }
    sum += 80;  // of s, either way
    for (const auto& [name, elements, readers] : kValues) {
      const auto differ = [&, name = std::string(name)](const std::string& reader) {
        return results == Results::kQuantized ? has(reader) != has(name)
                                              : has(reader) && !has(name);
      };
      sum += std::any_of(readers.begin(), readers.end(), differ) ? elements : 0;
    }
    return sum;
  }
  /// Values that its nodes read or compute, and their weights.
  std::set<std::string> points() const {
    std::set<std::string> result;
    for (const auto& [name, elements, readers] : kValues) {
      const auto has_reader = [&](const std::string& reader) { return has(reader); };
      const bool is_stored = results == Results::kQuantized && has(name);
      if (is_stored || std::any_of(readers.begin(), readers.end(), has_reader)) {
        result.insert(name);
      }
    }
    for (const auto& [name, multiplications] : kConvolutions) {
      if (has(name)) {
        result.insert("w" + std::string(name));
      }
    }
    return result;
  }

  /// The fastest with these nodes in float, of all that there are.
  static const Placement& without(const std::set<std::string>& nodes, Results results) {
    static std::map<std::pair<std::set<std::string>, Results>, Placement> found;
    if (const auto known = found.find({nodes, results}); known != found.end()) {
      return known->second;
    }
    const std::vector<std::string> all{"a", "b", "c", "d", "s", "e"};
    Placement& best = found[{nodes, results}];
    best.results = results;
    for (unsigned subset = 0; subset < 1U << all.size(); ++subset) {
      Placement placement{.results = results};
      for (std::size_t i = 0; i < all.size(); ++i) {
        if ((subset >> i & 1U) != 0 && !nodes.contains(all[i])) {
          placement.on_integers.insert(all[i]);
        }
      }
      if (placement.nanoseconds() < best.nanoseconds()) {
        best = placement;
      }
    }
    return best;
  }

 private:
  struct Convolution {
    const char* name;
    double multiplications;
  };
  static constexpr Convolution kConvolutions[] = {
      {"a", 400}, {"b", 800}, {"c", 1600}, {"d", 800}, {"e", 800}};
  struct Value {
    const char* name;
    double elements;
    std::vector<std::string> readers;
  };
  static inline const std::vector<Value> kValues{
      {"x", 40, {"a"}}, {"a", 40, {"b", "d"}}, {"b", 80, {"c"}},     {"c", 80, {"s"}},
      {"d", 80, {"s"}}, {"s", 80, {"e"}},      {"e", 40, {"output"}}};
};

class AnySensitivities : public ::testing::TestWithParam<std::tuple<unsigned, Results>> {
 protected:
  static unsigned seed() { return std::get<0>(GetParam()); }
  static Results results() { return std::get<1>(GetParam()); }

  /// What remains when those nodes stay float.
  double error_without(const std::set<std::string>& nodes) const {
    double sum = 0;
    for (const std::string& point : Placement::without(nodes, results()).points()) {
      sum += errors_.at(point);
    }
    return sum;
  }
  static double time_without(const std::set<std::string>& nodes) {
    return Placement::without(nodes, results()).nanoseconds();
  }

  /// Of every point with one of its own.
  void set_errors(Random& random) {
    for (const QuantPoint& point : simulated_.points) {
      if (point.role != Role::kAccumulator) {
        errors_.emplace(point.name, 0.001 * static_cast<double>(random.integer(1, 1000)));
      }
    }
  }

  Graph graph_ = branching();
  Target target_ = simple_target(results());
  std::span<const QuantPattern> patterns_ = Toolkit::builtin().patterns;
  SimulatedGraph simulated_ = simulate(graph_, {}, target_, patterns_);
  std::map<std::string, double> errors_;
};

class Assignments : public ::testing::TestWithParam<Results> {};

INSTANTIATE_TEST_SUITE_P(Targets, Assignments,
                         ::testing::Values(Results::kQuantized, Results::kAsTheyAreRead),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(Assignments, AreTheFastestOfAllPlacementsWithoutTheLayersThatCostTooMuch) {
  const Target target = simple_target(GetParam());
  const auto& patterns = Toolkit::builtin().patterns;
  const std::vector<std::string> layers{"a", "b", "c", "d", "e"};
  for (unsigned subset = 0; subset < 1U << layers.size(); ++subset) {
    std::set<std::string> kept;
    std::map<std::string, double> prices;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if ((subset >> i & 1U) != 0) {
        kept.insert(layers[i]);
        prices.emplace("w" + layers[i], 1e9);
      }
    }
    const Placement expected = Placement::without(kept, GetParam());
    const Assignment found = assign(branching(), {}, target, patterns, prices);
    EXPECT_NEAR(found.nanoseconds, expected.nanoseconds(), 1e-9) << subset;
    const SimulatedGraph simulated = simulate(branching(), {}, target, patterns, kept);
    std::set<std::string> points;
    for (const QuantPoint& point : simulated.points) {
      if (point.role != Role::kAccumulator) {
        points.insert(point.name);
      }
    }
    EXPECT_EQ(points, expected.points()) << subset;
  }
}

TEST_P(AnySensitivities, LeaveNoPlanThatIsNeitherSlowerNorLessExact) {
  Random random(seed());
  set_errors(random);
  const double slowdown = 0.01 * static_cast<double>(random.integer(0, 60));
  const double fastest = time_without({});
  const auto chosen =
      pareto_plans(simulated_, {}, patterns_, errors_, slowdown).back().float_nodes;
  const double time = time_without(chosen);
  const double error = error_without(chosen);
  EXPECT_LE(time, (1 + slowdown) * fastest * (1 + 1e-9));
  const std::vector<std::string> nodes{"a", "b", "c", "d", "e"};
  for (unsigned subset = 0; subset < 1U << nodes.size(); ++subset) {
    std::set<std::string> kept;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if ((subset >> i & 1U) != 0) {
        kept.insert(nodes[i]);
      }
    }
    EXPECT_FALSE(time_without(kept) < time * (1 - 1e-9) &&
                 error_without(kept) < error * (1 - 1e-9))
        << subset;
  }
}

TEST_P(AnySensitivities, LeaveNoTimeUnspentThatWouldMakeOneMoreLayerExact) {
  Random random(seed());
  set_errors(random);
  const double slowdown = 0.01 * static_cast<double>(random.integer(0, 60));
  const double limit = (1 + slowdown) * time_without({});
  const MixedPrecisionPlan vertex =
      pareto_plans(simulated_, {}, patterns_, errors_, slowdown).back();
  const MixedPrecisionPlan chosen =
      best_plan_within(simulated_, {}, patterns_, errors_, slowdown);
  EXPECT_LE(chosen.nanoseconds, limit);
  EXPECT_LE(chosen.error, vertex.error);
  EXPECT_GE(chosen.nanoseconds, vertex.nanoseconds);
  for (const char* layer : {"a", "b", "c", "d", "e"}) {
    std::set<std::string> kept = chosen.float_nodes;
    kept.insert(layer);
    EXPECT_TRUE(error_without(kept) >= chosen.error * (1 - 1e-9) || time_without(kept) > limit)
        << layer;
  }
}

TEST_P(AnySensitivities, OfUnaffordablePointsNeedNotBeKnown) {
  Random random(seed());
  const double slowdown = 0.01 * static_cast<double>(random.integer(0, 60));
  const auto points = affordable_points(simulated_, {}, patterns_, slowdown);
  const double limit = (1 + slowdown) * time_without({});
  for (const Region& region : simulated_.regions) {
    const std::string name = graph_.node(region.match.root()).name;
    const bool has_weight = region.pattern->name == "conv";
    const bool all =
        std::all_of(region.points.begin(), region.points.end(),
                    [&](const std::string& point) { return points.contains(point); });
    if (has_weight && time_without({name}) <= limit) {
      EXPECT_TRUE(all) << name;
    }
  }
}

TEST_P(AnySensitivities, MayBePaidForBitByBit) {
  Random random(seed());
  set_errors(random);
  const Config config;
  Assigner assigner(graph_, config, target_, patterns_);
  std::map<std::string, double> sum;
  for (int step = 0; step < 4; ++step) {
    std::vector<std::pair<PriceId, double>> more;
    for (const auto& [point, error] : errors_) {
      if (random.coin()) {
        more.emplace_back(assigner.find(point).value(), 1e3 * error);
        sum[point] += 1e3 * error;
      }
    }
    assigner = assigner.with(more);
    const Assignment whole = assign(graph_, {}, target_, patterns_, sum);
    EXPECT_EQ(assigner.nanoseconds(), whole.nanoseconds);
    EXPECT_EQ(assigner.on_integers(), whole.on_integers);
    for (const auto& [point, price] : sum) {
      EXPECT_EQ(assigner.quantizes(assigner.find(point).value()),
                whole.quantized.contains(point))
          << point;
    }
  }
}

TEST_P(AnySensitivities, AreSparedInNoMoreTimeThanByChangingLittle) {
  Random random(seed());
  const Config config;
  const Assigner fastest(graph_, config, target_, patterns_);
  for (int step = 0; step < 8; ++step) {
    std::set<std::string> layers;
    std::vector<std::string> weights;
    for (const char* layer : {"a", "b", "c", "d", "e"}) {
      if (random.coin()) {
        layers.insert(layer);
        weights.push_back("w" + std::string(layer));
      }
    }
    const double bound = fastest.nanoseconds_without(weights);
    EXPECT_GE(bound * (1 + 1e-12), time_without(layers));
    EXPECT_LT(bound, std::numeric_limits<double>::infinity()) << "each may be in float";
    if (layers.empty()) {
      EXPECT_EQ(bound, fastest.nanoseconds());
    }
  }
}

TEST_P(AnySensitivities, MakeAConvexParetoFront) {
  Random random(seed());
  set_errors(random);
  const auto curve = pareto_plans(simulated_, {}, patterns_, errors_, 10);
  double steepest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_NEAR(curve[i].nanoseconds, time_without(curve[i].float_nodes), 1e-3);
    EXPECT_NEAR(curve[i].error, error_without(curve[i].float_nodes), 1e-9);
    if (i > 0) {
      const double slope = (curve[i - 1].error - curve[i].error) /
                           (curve[i].nanoseconds - curve[i - 1].nanoseconds);
      EXPECT_GT(slope, 0);
      EXPECT_LT(slope, steepest);
      EXPECT_LE(curve[i].integer_share, curve[i - 1].integer_share);
      steepest = slope;
    }
  }
  EXPECT_EQ(curve.back().error, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnySensitivities,
                         ::testing::Combine(::testing::Range(0U, 30U),
                                            ::testing::Values(Results::kQuantized,
                                                              Results::kAsTheyAreRead)),
                         [](const auto& test) {
                           return name_of(std::get<1>(test.param)) +
                                  std::to_string(std::get<0>(test.param));
                         });

TEST(MixedPrecisionPlans, AreOneWhereNoTimeMayBeLostOrTheObjectiveIsAnother) {
  const Graph graph = branching();
  const auto& patterns = Toolkit::builtin().patterns;
  const SimulatedGraph simulated =
      simulate(graph, {}, simple_target(Results::kQuantized), patterns);
  const std::map<std::string, double> errors{{"a", 1}, {"wa", 1}};
  EXPECT_EQ(pareto_plans(simulated, {}, patterns, errors, 0).size(), 1U);
  EXPECT_EQ(pareto_plans(simulated, {}, patterns, errors, 10).back().float_nodes.count("a"),
            1U);
  Config coverage;
  coverage.objective = Objective::kCoverage;
  const SimulatedGraph covered =
      simulate(graph, coverage, simple_target(Results::kQuantized), patterns);
  EXPECT_EQ(pareto_plans(covered, coverage, patterns, errors, 10).size(), 1U);
}

}  // namespace
}  // namespace tare::test
