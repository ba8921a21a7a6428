// States that flow back, beside plain loops.
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/files/small_decoder.h"
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

/// A cache: what comes back has one row more, where the model leaves their number open.
class Caches : public InFolder {
 protected:
  /// The decoder of data/ takes one token at a time, and its cache grows.
  std::unique_ptr<Dataset> steps(std::int64_t count, std::int64_t of_sequence) const {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < count; ++i) {
      ids.push_back((7 * i + 3) % 96);
    }
    DatasetWriter writer(folder_ / "steps.h5");
    writer.append("input_ids", Tensor::of<std::int64_t>({count, 1}, ids));
    writer.finish();
    Config config;
    config.steps = of_sequence;
    for (const char* what : {"key", "value"}) {
      for (const char* layer : {"0", "1"}) {
        config.state[std::string("past_key_values.") + layer + "." + what] =
            std::string("present.") + layer + "." + what;
      }
    }
    return open_samples(folder_ / "steps.h5", SmallDecoder::file("decoder_with_past.onnx"),
                        config, Toolkit::builtin(), {}, {});
  }
};

TEST_F(Caches, GrowFromNothingAsIfTheWholeSequenceHadBeenRun) {
  constexpr std::int64_t kSteps = 9;
  const auto data = steps(2 * kSteps, kSteps);
  ASSERT_TRUE(data->has_several_shapes());
  const Graph with_past =
      load_model(SmallDecoder::file("decoder_with_past.onnx"), {}, data.get());
  std::vector<std::vector<float>> step_by_step;
  run_dataset(ready_to_run(with_past, {}, Toolkit::builtin()), *data, 1, 0,
              [&](std::size_t, std::vector<Tensor> outputs) {
                step_by_step.push_back(outputs[0].to_float());
              });
  ASSERT_EQ(step_by_step.size(), 2U * kSteps);
  const Graph whole = ready_to_run(load_model(SmallDecoder::file("decoder.onnx"),
                                              {{"batch", 1}, {"sequence", kSteps}}, nullptr),
                                   {}, Toolkit::builtin());
  for (std::size_t sequence = 0; sequence < 2; ++sequence) {
    std::vector<std::int64_t> all;
    for (std::size_t step = 0; step < kSteps; ++step) {
      const auto token = data->read("input_ids", sequence * kSteps + step, 1).to_int64();
      all.insert(all.end(), token.begin(), token.end());
      EXPECT_EQ(data->read("past_key_values.1.value", sequence * kSteps + step, 1).shape(),
                (Shape{1, 1, 2, static_cast<std::int64_t>(step), 16}));
    }
    const auto scores =
        Executable(whole)
            .run(std::vector<Tensor>{Tensor::of<std::int64_t>({1, kSteps}, all)})[0]
            .to_float();
    const std::size_t width = scores.size() / kSteps;
    for (std::size_t step = 0; step < kSteps; ++step) {
      for (std::size_t i = 0; i < width; ++i) {
        // Logits of about 10 after sums of a few hundred products in float32.
        EXPECT_NEAR(step_by_step[sequence * kSteps + step][i], scores[step * width + i], 1e-4);
      }
    }
  }
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
