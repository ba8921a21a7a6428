#include "base/min_cut.h"

#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct Arc {
  std::size_t from, to;
  std::int64_t cost;
};

/// Of all ways to choose sides: the least cost, and among those the fewest on the source's
/// side.
std::pair<std::int64_t, int> cheapest(std::size_t nodes, const std::vector<Arc>& arcs) {
  std::pair<std::int64_t, int> best{MinCut::kNever, 0};
  for (unsigned sides = 0; sides < (1U << (nodes - 2)); ++sides) {
    const auto on_source = [&](std::size_t node) {
      return node == 0 || (node > 1 && (sides >> (node - 2) & 1U) != 0);
    };
    std::int64_t cost = 0;
    for (const Arc& arc : arcs) {
      cost += on_source(arc.from) && !on_source(arc.to) ? arc.cost : 0;
    }
    best = std::min(best, {cost, __builtin_popcount(sides)});
  }
  return best;
}

TEST(MinCut, IsTheCheapestOfAllWaysToChooseSides) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t nodes = 3 + random() % 8;
    MinCut cut;
    for (std::size_t i = 2; i < nodes; ++i) {
      cut.add_node();
    }
    std::vector<Arc> arcs;
    for (std::size_t i = random() % 30; i > 0; --i) {
      // Small costs, so that several cuts are equally cheap.
      const Arc arc{random() % nodes, random() % nodes,
                    static_cast<std::int64_t>(random() % 5)};
      if (arc.from != arc.to) {
        arcs.push_back(arc);
        cut.add_arc(arc.from, arc.to, arc.cost);
      }
    }
    const std::vector<bool> sides = cut.solve();
    std::int64_t cost = 0;
    for (const Arc& arc : arcs) {
      cost += sides[arc.from] && !sides[arc.to] ? arc.cost : 0;
    }
    const int on_source = static_cast<int>(std::count(sides.begin() + 2, sides.end(), true));
    EXPECT_TRUE(sides[cut.source()]);
    EXPECT_FALSE(sides[cut.sink()]);
    EXPECT_EQ(std::pair(cost, on_source), cheapest(nodes, arcs));
  }
}

TEST(MinCut, GoesOnWithRisenCostsToTheCutThatTheyHaveFromTheStart) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::size_t nodes = 3 + random() % 20;
    MinCut before;
    MinCut after;
    for (std::size_t i = 2; i < nodes; ++i) {
      before.add_node();
      after.add_node();
    }
    std::vector<std::pair<std::size_t, std::int64_t>> risen;
    for (std::size_t i = random() % 60; i > 0; --i) {
      const Arc arc{random() % nodes, random() % nodes,
                    static_cast<std::int64_t>(random() % 5)};
      if (arc.from != arc.to) {
        const auto by = static_cast<std::int64_t>(random() % 3 == 0 ? random() % 5 : 0);
        risen.emplace_back(before.add_arc(arc.from, arc.to, arc.cost), by);
        after.add_arc(arc.from, arc.to, arc.cost + by);
      }
    }
    MinCut::Flow start(before);
    const std::vector<bool> sides = start.solve();
    MinCut::Flow branch = start;
    for (const auto& [arc, by] : risen) {
      branch.raise(arc, by);
    }
    EXPECT_EQ(branch.solve(), after.solve());
    EXPECT_EQ(start.solve(), sides) << "a branch changed what it left";
  }
}

TEST(MinCut, NeverCutsWhatMustNotBe) {
  MinCut cut;
  const std::size_t a = cut.add_node();
  const std::size_t b = cut.add_node();
  cut.add_arc(cut.source(), a, MinCut::kNever);
  cut.add_arc(a, b, MinCut::kNever);
  cut.add_arc(b, cut.sink(), 1'000'000'000'000);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, false, true, true}));
}

TEST(MinCut, SurvivesLongChains) {
  MinCut cut;
  std::size_t last = cut.source();
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t node = cut.add_node();
    cut.add_arc(last, node, i == 777 ? 1 : 2);
    last = node;
  }
  cut.add_arc(last, cut.sink(), 2);
  const std::vector<bool> sides = cut.solve();
  EXPECT_EQ(std::count(sides.begin(), sides.end(), true), 778);
}

}  // namespace
}  // namespace tare::test
