#include "models.h"

#include "tare/pipeline.h"

#include "equalize/random_factors.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

using testing::Random;

class EqualizedModel : public ::testing::TestWithParam<TestModel> {};

/// A Clip cuts off at the same number whatever its channels were divided by.
Graph without_upper_bounds(Graph graph) {
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op == "Clip" && graph.node(id).inputs.size() > 2) {
      graph.set_input(id, 2, ValueId{});
    }
  }
  return graph;
}

// Factors are powers of two.
TEST_P(EqualizedModel, ComputesTheSameBitForBit) {
  const auto data = open_dataset(GetParam().calibration);
  const Graph graph = without_upper_bounds(
      prepare(load_model(GetParam().model, {}, data.get()), Toolkit::builtin()));
  Random random(1);
  const Graph equal = equalize(graph, testing::random_factors(graph, random));
  const auto results = [&](const Graph& of) {
    std::vector<std::vector<Tensor>> all;
    run_dataset(of, *data, 0, 2,
                [&](std::size_t, std::vector<Tensor> outputs) { all.push_back(outputs); });
    return all;
  };
  EXPECT_EQ(results(equal), results(graph));
}

INSTANTIATE_TEST_SUITE_P(Models, EqualizedModel, ::testing::ValuesIn(test_models()),
                         [](const auto& model) { return model.param.name; });

}  // namespace
}  // namespace tare
