// States that flow back, beside plain loops.
#include "tare/graph.h"
#include "tare/quantize.h"

#include "support/files/samples_in_memory.h"
#include "support/message.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// y = h + x, which is the state of the next step; g turns its sign each step.
Graph accumulator() {
  return parse(
      R"(graph "g" opset 17 (%x : f32[1,2], %h : f32[1,2], %g : f32[3]) -> (%y, %next) {
  %y = Add(%h, %x) : f32[1,2]
  %next = Neg(%g) : f32[3]
}
)");
}

std::unique_ptr<Dataset> steps_of(std::size_t count, std::map<std::string, Tensor> more = {}) {
  std::vector<float> x;
  for (std::size_t i = 0; i < count; ++i) {
    x.push_back(static_cast<float>(i + 1));
    x.push_back(-2 * static_cast<float>(i));
  }
  more["x"] = Tensor::of<float>({static_cast<std::int64_t>(count), 2}, x);
  return std::make_unique<SamplesInMemory>(std::move(more));
}

Config states(std::optional<std::int64_t> steps = std::nullopt) {
  Config config;
  config.state = {{"h", "y"}, {"g", "next"}};
  config.steps = steps;
  return config;
}

TEST(WithStates, GivesEachStepWhatTheOneBeforeComputed) {
  const auto data = with_states(accumulator(), steps_of(7), states());
  ASSERT_EQ(data->size(), 7U);
  float first = 0;
  float second = 0;
  for (std::size_t step = 0; step < 7; ++step) {
    EXPECT_EQ(data->read("h", step, 1).to_float(), (std::vector<float>{first, second})) << step;
    first += static_cast<float>(step + 1);
    second -= 2 * static_cast<float>(step);
  }
}

TEST(WithStates, BeginsEachSequenceAnew) {
  const auto data = with_states(accumulator(), steps_of(7), states(3));
  const std::vector<float> sums = data->read("h", 0, 7).to_float();
  for (const std::size_t begin : {0U, 3U, 6U}) {
    EXPECT_EQ(sums[2 * begin], 0) << begin;
  }
  EXPECT_EQ(sums[2 * 5], 4 + 5);  // of the steps before it in its sequence
}

TEST(WithStates, BeginsWithTheStateOfTheSamplesWhereTheyHaveOne) {
  const std::vector<float> given{1, 2, 3, 0, 0, 0, 0, 0, 0, 7, 8, 9};
  const auto data = with_states(
      accumulator(), steps_of(4, {{"g", Tensor::of<float>({4, 3}, given)}}), states(3));
  EXPECT_EQ(data->read("g", 0, 4).to_float(),
            (std::vector<float>{1, 2, 3, -1, -2, -3, 1, 2, 3, 7, 8, 9}));
}

TEST(WithStates, IsTheSameOnAnyNumberOfThreads) {
  const auto one = with_states(accumulator(), steps_of(50), states(4), 1);
  const auto four = with_states(accumulator(), steps_of(50), states(4), 4);
  EXPECT_EQ(one->read("h", 0, 50), four->read("h", 0, 50));
}

TEST(WithStates, RunsSequencesAsIfTheModelRanStepByStep) {
  const Graph graph = accumulator();
  const auto data = with_states(graph, steps_of(6), states());
  float sum = 0;
  run_dataset(graph, *data, 2, 0, [&](std::size_t step, std::vector<Tensor> outputs) {
    sum += static_cast<float>(step + 1);
    EXPECT_EQ(outputs[0].to_float()[0], sum);
  });
}

TEST(WithStates, NamesEverythingThatTheModelDoesNotHave) {
  Config config;
  config.state = {{"hh", "y"}, {"g", "nxt"}, {"h", "next"}};
  EXPECT_EQ(message_of([&] { return with_states(accumulator(), steps_of(2), config); },
                       ErrorCode::kInvalidConfig),
            "'state': the model has no output 'nxt'\n  hint: did you mean 'next'?\n"
            "'state': output 'next' is f32 [3], expected f32 [1,2] as input 'h'\n"
            "'state': the model has no input 'hh'\n  hint: did you mean 'h'?");
}

}  // namespace
}  // namespace tare::test
