
#include "tare/integer_graph.h"

#include "support/files/samples_in_memory.h"
#include "support/random/random_product.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// The product behind a Quantize, so that float samples can be fed to it.
Graph fed(const RandomProduct& product, const Accumulator& held) {
  const Graph integer = product.integer(held);
  const Node& node = integer.node(integer.nodes()[0]);
  Graph graph;
  const ValueId real = graph.add_input("real", f32(product.x_shape));
  const NodeId x =
      graph.add_node("", "Quantize", {real}, {{"x", integer.type(node.inputs[0])}});
  std::vector<ValueId> operands{graph.node(x).outputs[0]};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    operands.push_back(graph.add_constant(integer.name(node.inputs[i]),
                                          *integer.constant(node.inputs[i]),
                                          integer.type(node.inputs[i])));
  }
  const NodeId y = graph.add_node("product", node.op, operands,
                                  {{"y", integer.type(node.outputs[0])}}, node.attributes);
  graph.set_outputs({graph.node(y).outputs[0]});
  return graph;
}

TEST(ObservedAccumulators, AreTheSumsOfPositiveAndOfNegativeTermsForEveryProduct) {
  Random random(21);
  for (const RandomProduct::Op op : RandomProduct::kOps) {
    for (int round = 0; round < 30; ++round) {
      const RandomProduct product(op, random);
      SumRange expected;
      for_each_index(product.y_shape, [&](const Shape& at) {
        std::int64_t negative = std::min<std::int64_t>(product.bias_of(at), 0);
        std::int64_t positive = std::max<std::int64_t>(product.bias_of(at), 0);
        for (const auto& [x, w] : product.products(at)) {
          negative += std::min<std::int64_t>(x * w, 0);
          positive += std::max<std::int64_t>(x * w, 0);
        }
        expected = {std::min(expected.low, negative), std::max(expected.high, positive)};
      });
      const SamplesInMemory data({{"real", product.simulated_x()}});
      for (const Accumulator held : {Accumulator{}, Accumulator{10, Overflow::kWrap}}) {
        const Graph graph = fed(product, held);
        const std::vector<AccumulatorRange> observed = observed_accumulators(graph, data, 1, 0);
        ASSERT_EQ(observed.size(), 1U);
        EXPECT_EQ(graph.node(observed[0].node).name, "product");
        EXPECT_EQ(observed[0].range, expected);
        const SumRange worst_case = worst_case_accumulators(graph)[0].range;
        EXPECT_GE(observed[0].range.low, worst_case.low);
        EXPECT_LE(observed[0].range.high, worst_case.high);
      }
    }
  }
}

TEST(ObservedAccumulators, AreTheSameForAnyNumberOfThreads) {
  Random random(4);
  const RandomProduct product(RandomProduct::Op::kGemm, random);
  Shape many = product.x_shape;
  many[0] *= 50;
  const SamplesInMemory data({{"real", random.tensor(many)}});
  const Graph graph = fed(product, {});
  const SumRange one = observed_accumulators(graph, data, 1, 0)[0].range;
  EXPECT_EQ(observed_accumulators(graph, data, 3, 0)[0].range, one);
  EXPECT_NE(one, SumRange{});
}

}  // namespace
}  // namespace tare::test
