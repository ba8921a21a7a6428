#include "calibrate/selection/trial.h"
#include "graph/operators/product.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A product of 64 rows by a matrix of 100 x 50: 320,000 multiplications in a run.
Graph product() {
  Random random(1);
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::kFloat32, .shape = {64, 100}});
  const ValueId w = graph.add_constant("w", random.tensor({100, 50}));
  graph.set_outputs({add(graph, "MatMul", {x, w}, {64, 50})});
  return graph;
}

TEST(RunsWithin, AreAsManyAsTakeSoManyMultiplications) {
  ASSERT_EQ(multiplications(product()), 320000);
  EXPECT_EQ(runs_within(320000.0 * 5 + 1, product(), 2, 16), 5U);
}

TEST(RunsWithin, AreNoFewerThanTheLeastAndNoMoreThanTheMost) {
  EXPECT_EQ(runs_within(1000, product(), 2, 16), 2U);
  EXPECT_EQ(runs_within(1e12, product(), 2, 16), 16U);
}

TEST(RunsWithin, AreTheMostWhereNothingIsMultiplied) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.dtype = DType::kFloat32, .shape = {4}});
  graph.set_outputs({add(graph, "Relu", {x}, {4})});
  EXPECT_EQ(runs_within(1e9, graph, 2, 16), 16U);
}

}  // namespace
}  // namespace tare::test
