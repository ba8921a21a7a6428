// Keys and values that a decoder keeps as int8 between its steps.
#include "lower/stored_caches.h"

#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/report.h"

#include "support/difference.h"
#include "support/files/digits.h"
#include "support/files/folder.h"
#include "support/files/small_decoder.h"
#include "support/message.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kSteps = 24;

/// What comes back from `%old` with `%new` behind it along an axis.
Graph joined_along(int axis) {
  return parse(
      "graph \"g\" opset 17 (%old : f32[1,2,3,4], %new : f32[1,2,3,4]) -> (%y) {\n"
      "%y = Concat(%old, %new) {axis = " +
      std::to_string(axis) + "} : f32[" + (axis == 1 ? "1,4,3,4" : "1,2,6,4") + "]\n}");
}

TEST(FindCaches, GrowAlongTheirLength) {
  EXPECT_EQ(find_caches(joined_along(2)).size(), 1U);
  EXPECT_EQ(find_caches(joined_along(-2)).size(), 1U);
  EXPECT_TRUE(find_caches(joined_along(1)).empty());  // heads would be taken for tokens
}

class StoredCaches : public InFolder {
 protected:
  StoredCaches() {
    // The first tokens of some texts, one after the other.
    const auto texts = open_dataset(SmallDecoder::file("decoder_calibration.h5"));
    std::vector<std::int64_t> ids;
    for (std::size_t text = 0; text < 4; ++text) {
      const auto tokens = texts->read("input_ids", text, 1).to_int64();
      ids.insert(ids.end(), tokens.begin(), tokens.begin() + kSteps);
    }
    DatasetWriter writer(folder_ / "steps.h5");
    writer.append("input_ids",
                  Tensor::of<std::int64_t>({static_cast<std::int64_t>(ids.size()), 1}, ids));
    writer.finish();
    config_.steps = kSteps;
    for (const char* what : {"0.key", "0.value", "1.key", "1.value"}) {
      config_.state[std::string("past_key_values.") + what] = std::string("present.") + what;
    }
    config_.cache.is_stored = true;
  }

  std::unique_ptr<Dataset> steps_of(const std::filesystem::path& model) const {
    return open_samples(folder_ / "steps.h5", model, config_, Toolkit::builtin());
  }

  /// All scores of a model that runs step by step with caches of its own.
  std::vector<float> scores(const std::filesystem::path& model) const {
    const auto data = steps_of(model);
    std::vector<float> all;
    run_dataset(ready_to_run(load_model(model, {}, data.get()), {}, Toolkit::builtin()), *data,
                1, 0, [&](std::size_t, std::vector<Tensor> outputs) {
                  const auto own = outputs[0].to_float();
                  all.insert(all.end(), own.begin(), own.end());
                });
    return all;
  }

  QuantizeResult quantized() const {
    const auto data = steps_of(model_);
    return quantize(load_model(model_, {}, data.get()), *data, config_, Toolkit::builtin());
  }

  std::filesystem::path model_ = SmallDecoder::file("decoder_with_past.onnx");
  Config config_;
};

TEST_F(StoredCaches, AreIntegersOutsideAndLoseLittle) {
  config_.weights.bits = 8;
  for (const bool per_head : {false, true}) {
    config_.cache.per_head = per_head;
    const QuantizeResult result = quantized();
    for (const Form form : {Form::kQdq, Form::kQoperator}) {
      const auto file = folder_ / "stored.onnx";
      write_onnx(export_form(result.integer, form, result.simulated.target), file);
      const auto data = steps_of(file);
      const Graph read = load_model(file, {}, data.get());
      for (const char* name : {"past_key_values.1.key", "present.1.key"}) {
        EXPECT_EQ(read.type(*read.find_value(name)).dtype, DType::kInt8) << name;
      }
      // Steps are 1/127 of the largest of a channel: 40 dB for values spread as in a normal
      // distribution, and less where heads share one; weights of 8 bits lose nothing beside.
      EXPECT_GT(sqnr(scores(model_), scores(file)), per_head ? 28 : 32) << per_head;
    }
  }
}

TEST_F(StoredCaches, HoldEachNewValueAtTheStepOfItsChannel) {
  config_.recipe = Recipe::kNone;
  LayerRule all;
  all.name = "*";
  all.keep_float = true;
  config_.layers = {all};  // so that keys are those of the float network
  const QuantizeResult result = quantized();
  const auto file = folder_ / "stored.onnx";
  write_onnx(result.qdq, file);
  const auto real_data = steps_of(model_);
  const auto data = steps_of(file);
  const Tensor real = real_data->read("past_key_values.0.key", kSteps - 1, 1);
  const Tensor stored = data->read("past_key_values.0.key", kSteps - 1, 1);
  ASSERT_EQ(stored.dtype(), DType::kInt8);
  ASSERT_EQ(stored.shape(), (Shape{1, 1, 2, kSteps - 1, 16}));
  // The largest of a channel over all steps of all texts is 127.
  std::vector<float> largest(16);
  for (std::size_t text = 0; text < 4; ++text) {
    // What the last step adds is in no input: run it.
    std::vector<Tensor> inputs;
    const Graph model =
        ready_to_run(load_model(model_, {}, real_data.get()), {}, Toolkit::builtin());
    for (const ValueId input : model.inputs()) {
      const Tensor sample = real_data->read(model.name(input), text * kSteps + kSteps - 1, 1);
      inputs.push_back(sample.reshaped(
          Shape(sample.shape().begin() + (model.name(input) == "input_ids" ? 0 : 1),
                sample.shape().end())));
    }
    const auto results = Executable(model).run(inputs);
    const auto present =
        std::find_if(model.outputs().begin(), model.outputs().end(),
                     [&](ValueId id) { return model.name(id) == "present.0.key"; });
    const auto keys =
        results[static_cast<std::size_t>(present - model.outputs().begin())].to_float();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      largest[i % 16] = std::max(largest[i % 16], std::abs(keys[i]));
    }
  }
  const auto x = real.to_float();
  const auto q = stored.to_int64();
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Keys of the first layer depend on no cache. Ties may fall to either side.
    const double steps = static_cast<double>(x[i]) / static_cast<double>(largest[i % 16]) * 127;
    EXPECT_NEAR(static_cast<double>(q[i]), steps, 0.501) << i;
  }
}

TEST_F(StoredCaches, AreComparedWithTheRealOnesOfTheFloatNetwork) {
  const QuantizeResult result = quantized();
  const auto data = steps_of(model_);
  const Report report = compare_result(result, *data, Toolkit::builtin(), {});
  ASSERT_EQ(report.outputs.size(), 5U);
  for (const OutputReport& output : report.outputs) {
    EXPECT_GT(output.error.sqnr.value(), 10) << output.name;
  }
}

TEST_F(StoredCaches, NeedCachesAndSamples) {
  const Digits digits;
  Config config;
  config.cache.is_stored = true;
  EXPECT_EQ(
      message_of(
          [&] { return quantize(digits.model, *digits.data, config, Toolkit::builtin()); },
          ErrorCode::kInvalidConfig),
      "'cache.storage': the model has no caches, expected inputs of "
      "[batch,heads,length,size] that outputs begin with\n  while calibrating");
  const auto data = steps_of(model_);
  const Graph model = load_model(model_, {}, data.get());
  EXPECT_EQ(message_of([&] { return quantize(model, config_, Toolkit::builtin()); },
                       ErrorCode::kInvalidConfig),
            "'cache.storage': gets its scales from samples");
}

}  // namespace
}  // namespace tare::test
