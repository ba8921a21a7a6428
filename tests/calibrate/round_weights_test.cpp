#include "calibrate/rounding/round_weights.h"

#include "tare/quantize.h"

#include "support/graphs.h"
#include "support/random/random.h"
#include "support/simulated.h"
#include "support/team.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kColumns = 16;

/// A dense layer with the parameters of its input and weights decided.
struct Layer {
  SimulatedGraph simulated;
  QuantTable table;
  const QuantPoint* accumulator = nullptr;

  explicit Layer(std::int64_t outputs = 8, bool by_output = false) {
    Random random(1);
    Graph graph;
    const ValueId x = graph.add_input("x", f32({1, kColumns}));
    const ValueId w = graph.add_constant(
        "w", random.tensor(by_output ? Shape{outputs, kColumns} : Shape{kColumns, outputs}));
    Attributes attributes;
    attributes.set("transB", std::int64_t{by_output});
    graph.set_outputs({add(graph, "Gemm", {x, w}, {1, outputs}, std::move(attributes))});
    simulated = simulated_with(graph);
    for (const QuantPoint& point : simulated.points) {
      if (point.role == Role::kAccumulator) {
        accumulator = &point;
        continue;
      }
      const std::size_t ranges = point.spec.granularity == Granularity::kPerAxis
                                     ? static_cast<std::size_t>(outputs)
                                     : 1;
      table[point.name].params =
          to_quant_params(std::vector<Range>(ranges, Range{-2, 2}), point.spec);
    }
  }

  /// What becomes of the weights where each run has one row of `values`.
  std::vector<std::int8_t> rounding(std::size_t runs,
                                    const std::function<float(Random&, float before)>& values,
                                    Communicator* team = nullptr) {
    LayerRows rows(simulated.source, simulated.source.node(*accumulator->reader), runs);
    Random random(2);
    const TensorType type = f32({1, kColumns});
    for (std::size_t run = 0; run < runs; ++run) {
      std::vector<float> row{values(random, 0)};
      while (row.size() < kColumns) {
        row.push_back(values(random, row.back()));
      }
      const Tensor input = Tensor::of<float>(type.shape, row);
      rows.observe(run, {.type = &type, .data = input.data()});
    }
    round_weights(simulated, *accumulator, rows, 1, table, team);
    return table.at(accumulator->weight).rounding.to_vector();
  }
};

float like_the_one_before(Random& random, float before) {
  return 0.9F * before + 0.2F * random.tensor({1}).view<float>()[0];
}

TEST(RoundWeights, IsForTheInputsOfAnyNumberOfRuns) {
  // From 1024 runs on there is one row of every so many; there must be some in the holdout and
  // some outside.
  for (const std::size_t runs : {50U, 1024U, 2048U, 4096U, 5000U, 8192U}) {
    const auto rounding = Layer().rounding(runs, like_the_one_before);
    EXPECT_FALSE(rounding.empty()) << runs;
  }
}

TEST(RoundWeights, SaysNothingWhereAllAreTheNearest) {
  EXPECT_TRUE(Layer().rounding(100, [](Random&, float) { return 0.0F; }).empty());
  EXPECT_TRUE(Layer().rounding(1, like_the_one_before).empty()) << "nothing is held out";
}

class SharedRounding : public testing::TestWithParam<bool> {};

TEST_P(SharedRounding, HasTheSameIntegersInAByteForEachWeight) {
  constexpr std::int64_t kOutputs = 80;  // in three groups
  const auto alone = Layer(kOutputs, GetParam()).rounding(300, like_the_one_before);
  ASSERT_FALSE(alone.empty());
  Exchange table(2);
  std::vector<std::vector<std::int8_t>> shared(2);
  std::vector<std::thread> members;
  for (int rank = 0; rank < 2; ++rank) {
    members.emplace_back([&, rank] {
      Member member(table, rank);
      shared.at(static_cast<std::size_t>(rank)) =
          Layer(kOutputs, GetParam()).rounding(300, like_the_one_before, &member);
    });
  }
  for (std::thread& member : members) {
    member.join();
  }
  EXPECT_EQ(shared[0], alone);
  EXPECT_EQ(shared[1], alone);
  EXPECT_EQ(table.bytes[Message::kRoundings], kColumns * kOutputs);
}

INSTANTIATE_TEST_SUITE_P(Weights, SharedRounding, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) {
                           return info.param ? "ByOutput" : "ByColumn";
                         });

}  // namespace
}  // namespace tare::test
