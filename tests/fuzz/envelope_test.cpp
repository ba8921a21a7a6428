// Bounds that hold would be worth nothing if they held for anything.
#include "fuzz/envelope.h"

#include "tare/config.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "fuzz/models.h"

#include <gtest/gtest.h>

namespace tare::fuzz {
namespace {

class Envelopes : public ::testing::Test {
 protected:
  Envelopes() {
    Config config;
    config.objective = Objective::kCoverage;
    result_ = tare::quantize(small_network(), small_samples(), config, Toolkit::builtin());
    bound_ = tare::bind(result_.simulated, result_.table);
  }

  /// Of how many samples the results lie between the bounds.
  std::size_t held(const Graph& graph, Difference difference) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < small_samples().size(); ++i) {
      const std::vector<Tensor> inputs{small_samples().read("x", i, 1)};
      const auto bounds =
          envelopes(bound_, result_.table, result_.simulated.arithmetic.usual.requantize,
                    difference, inputs);
      count += first_outside(bounds[0], Executable(graph).run(inputs)[0]).empty() ? 1 : 0;
    }
    return count;
  }

  /// The graph with half the weights of that operator.
  static Graph with_half_weights(Graph graph, const std::string& op, std::size_t operand) {
    for (const NodeId id : graph.nodes()) {
      if (graph.node(id).op == op) {
        const ValueId value = graph.node(id).inputs[operand];
        Tensor weights = *graph.constant(value);
        for (auto& weight : weights.mutable_view<std::int8_t>()) {
          weight = static_cast<std::int8_t>(weight / 2);
        }
        const ValueId other =
            graph.add_constant(graph.unique_name("other"), weights, graph.type(value));
        graph.set_input(id, operand, other);
      }
    }
    return graph;
  }

  QuantizeResult result_;
  Graph bound_;
};

TEST_F(Envelopes, HoldSimulationIntegersAndFloats) {
  const std::size_t all = small_samples().size();
  EXPECT_EQ(held(bound_, Difference::kTies), all);
  EXPECT_EQ(held(result_.integer, Difference::kTies), all);
  EXPECT_EQ(held(bound_, Difference::kMerged), all);
  EXPECT_EQ(held(result_.integer, Difference::kMerged), all);
  EXPECT_EQ(held(bound_, Difference::kRounding), all);
  EXPECT_EQ(held(result_.simulated.source, Difference::kRounding), all);
}

TEST_F(Envelopes, DoNotHoldTheFloatNetworkWhereIntegersAreMeant) {
  EXPECT_LT(held(result_.simulated.source, Difference::kTies), small_samples().size());
}

TEST_F(Envelopes, DoNotHoldOtherWeights) {
  for (const char* op : {"Conv", "MatMul"}) {
    const Graph other = with_half_weights(result_.integer, op, 1);
    EXPECT_LT(held(other, Difference::kTies), small_samples().size()) << op;
    EXPECT_LT(held(other, Difference::kMerged), small_samples().size()) << op;
    EXPECT_LT(held(other, Difference::kRounding), small_samples().size()) << op;
  }
}

}  // namespace
}  // namespace tare::fuzz
