#include "graph/operators/product.h"

#include "tare/arithmetic.h"
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

SumRange sums_of(const std::string& x, const std::string& w, const std::string& product) {
  return worst_case_accumulators(
             parse("graph \"g\" opset 17 (%x : u8" + x + " q(1, 0)) -> (%y) {\nconst %w : i8" +
                   w +
                   " q(1, 0) = []\nconst %b : i32[4] q(1, 0) = [-5, 1, 2, 3]\n"
                   "%y = " +
                   product + " q(1, 0)\n}"))
      .at(0)
      .range;
}

TEST(ChannelWalk, GoesThroughTheResultsOfAllWeights) {
  const std::vector<std::pair<Node, Shape>> cases{
      {{.op = "Conv"}, {7, 5, 3, 2}},
      {{.op = "Conv", .attributes = {{"group", std::int64_t{7}}}}, {7, 1, 3, 2}},
      {{.op = "ConvTranspose", .attributes = {{"group", std::int64_t{5}}}}, {10, 7, 3, 2}},
      {{.op = "Gemm", .attributes = {{"transB", std::int64_t{1}}}}, {7, 5}},
      {{.op = "MatMul"}, {5, 7}},
      {{.op = "MatMul"}, {3, 2, 5, 7}},
      {{.op = "MatMul"}, {5}},
  };
  for (const auto& [node, weights] : cases) {
    const WeightResults results(node, weights);
    ChannelWalk walk = results.walk();
    for (std::size_t i = 0; i < static_cast<std::size_t>(element_count(weights)); ++i) {
      ASSERT_EQ(walk.channel(), results.of(i)) << node.op << to_string(weights) << " " << i;
      walk.next();
    }
    std::size_t next = 0;
    results.for_each_run([&](std::size_t result, std::size_t step, std::size_t first,
                             std::size_t count) {
      ASSERT_EQ(first, next);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(result + i * step, results.of(first + i)) << node.op << to_string(weights);
      }
      next += count;
    });
    EXPECT_EQ(next, static_cast<std::size_t>(element_count(weights)));
  }
}

TEST(WeightLayout, IsTheOneInWhichOnnxDefinesTheWeightsOfEachOperator) {
  struct Case {
    Node node;
    Shape weights;  // of 5 channels in and 7 out
  };
  const std::vector<Case> cases{
      {{.op = "Conv"}, {7, 5, 3, 2}},
      {{.op = "ConvTranspose"}, {5, 7, 3, 2}},
      {{.op = "Gemm"}, {5, 7}},
      {{.op = "Gemm", .attributes = {{"transB", std::int64_t{1}}}}, {7, 5}},
      {{.op = "MatMul"}, {5, 7}},
      {{.op = "MatMul"}, {3, 2, 5, 7}},
  };
  for (const auto& [node, weights] : cases) {
    const WeightLayout layout = weight_layout(node, weights.size());
    EXPECT_EQ(weights.at(layout.input), 5) << node.op << to_string(weights);
    EXPECT_EQ(weights.at(layout.output), 7) << node.op << to_string(weights);
  }
}

TEST(WorstCaseAccumulators, WithoutWeightsAreTheBiases) {
  const SumRange biases{-5, 3};
  EXPECT_EQ(sums_of("[1,0]", "[0,4]", "Gemm(%x, %w, %b) : i32[1,4]"), biases);
  EXPECT_EQ(sums_of("[1,0,3]", "[0,4,1]", "ConvTranspose(%x, %w, %b) : i32[1,4,3]"), biases);
  EXPECT_EQ(sums_of("[1,0,3]", "[4,0,1]", "Conv(%x, %w, %b) : i32[1,4,3]"), biases);
}

TEST(WorstCaseAccumulators, RefuseWeightsThatDoNotFallIntoGroups) {
  const std::string text =
      "graph \"g\" opset 17 (%x : u8[1,3,2] q(1, 0)) -> (%y) {\n"
      "const %w : i8[3,1,1] q(1, 0) = [1, 2, 3]\n"
      "up: %y = ConvTranspose(%x, %w) {group=2} : i32[1,2,2] q(1, 0)\n}";
  try {
    (void)worst_case_accumulators(parse(text));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.faults().front().where, "node 'up'");
    EXPECT_EQ(error.faults().front().what, "weight [3,1,1] does not fall into 2 groups");
  }
}

}  // namespace
}  // namespace tare::test
