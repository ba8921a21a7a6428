

#include "calibrate/audit/input_audit.h"

#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "support/files/models.h"
#include "support/files/samples_in_memory.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Samples of a file after something was done to every number.
class Changed final : public Dataset {
 public:
  Changed(const Dataset& data, std::function<float(float)> change)
      : data_(data), change_(std::move(change)), inputs_(data.inputs()) {
    for (DatasetInput& input : inputs_) {
      input.scaled_bytes = false;
    }
  }
  std::size_t size() const override { return data_.size(); }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    Tensor samples = data_.read(input, first, count);
    if (samples.dtype() == DType::kFloat32) {
      for (float& value : samples.mutable_view<float>()) {
        value = change_(value);
      }
    }
    return samples;
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return data_.labels(); }

 private:
  const Dataset& data_;
  std::function<float(float)> change_;
  std::vector<DatasetInput> inputs_;
};

std::string words(const std::vector<Warning>& warnings) {
  std::string text;
  for (const Warning& warning : warnings) {
    EXPECT_TRUE(is_about_inputs(warning)) << warning.kind;
    text += warning.kind + " " + warning.where + " " + warning.what + "\n";
  }
  return text;
}

TestModel named(const std::string& name) {
  for (const TestModel& model : test_models()) {
    if (model.name == name) {
      return model;
    }
  }
  return {};
}

class OfModel : public ::testing::TestWithParam<TestModel> {};

TEST_P(OfModel, SamplesThatWerePreparedWellGetNoWarning) {
  const TestModel& model = GetParam();
  for (const auto& file : {model.calibration, model.evaluation}) {
    const auto data = open_dataset(file);
    EXPECT_EQ(words(audit_inputs(load_model(model.model, {}, data.get()), *data)), "");
  }
}

std::vector<TestModel> models_and_field_models() {
  std::vector<TestModel> result = test_models();
  const char* given = std::getenv("TARE_SHARED");
  const std::filesystem::path field =
      (given != nullptr ? std::filesystem::path(given)
                        : std::filesystem::path(TARE_SOURCE_DIR) / "../shared") /
      "field";
  // Those that can be read; the others are refused for what is no matter of samples.
  for (const char* name :
       {"dnsmos_model_v8", "dtln2", "facile_sentiment", "fastestdet", "hulks_classifier",
        "lstm_vae_encoder", "minifasnet_v2", "mobilefacenet", "oww_melspec", "zero_dce"}) {
    const std::string stem = name;
    const TestModel model{stem, field / "models" / (stem + ".onnx"),
                          field / "data" / (stem + ".calib.h5"),
                          field / "data" / (stem + ".eval.h5")};
    if (std::filesystem::exists(model.model)) {
      result.push_back(model);
    }
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(InputAudit, OfModel, ::testing::ValuesIn(models_and_field_models()),
                         [](const auto& instance) { return instance.param.name; });

/// What the warning says of samples to which that was done; empty when there is none.
std::string spoiled(const std::string& model, const std::function<float(float)>& change) {
  const TestModel files = named(model);
  const auto data = open_dataset(files.calibration);
  const Graph graph = load_model(files.model, {}, data.get());
  return words(audit_inputs(graph, Changed(*data, change)));
}

TEST(InputAudit, NoticesWhatABatchNormDidNotSeeInTraining) {
  // Digits are (pixel - 78) / 81.6.
  EXPECT_NE(spoiled("digits", [](float x) { return x * 81.6F + 78; }), "");
  EXPECT_NE(spoiled("digits", [](float x) { return x * 255; }), "");
  EXPECT_NE(spoiled("digits", [](float x) { return x / 255; }), "");
  EXPECT_NE(spoiled("digits", [](float x) { return (x - 78) / 81.6F; }), "");
  EXPECT_NE(spoiled("digits", [](float x) { return (x - 0.485F) / 0.229F; }), "");
  const std::string text = spoiled("digits", [](float x) { return x * 255; });
  EXPECT_NE(text.find("is not prepared as in training: what '/stem/bn/BatchNormalization' "
                      "reads varies"),
            std::string::npos)
      << text;
}

TEST(InputAudit, SaysOfRawPixelsThatTheyAreThat) {
  const std::string text =
      spoiled("digits", [](float x) { return std::round(x * 81.6F + 78); });
  EXPECT_EQ(text.find("unnormalized_input input 'image' holds whole numbers in [0, 255] only"),
            0U)
      << text;
}

TEST(InputAudit, NoticesTheWrongDeviationOfImages) {
  for (const char* model : {"mobilenet", "resnet20_op13", "resnet20_op17"}) {
    if (named(model).name.empty()) {
      GTEST_SKIP() << "there are no shared models";
    }
    EXPECT_NE(spoiled(model, [](float x) { return x * 255; }), "") << model;
  }
  EXPECT_NE(spoiled("mobilenet", [](float x) { return x * 5; }), "");
}

/// A convolution without batch norm, of which nothing is known but that trained ones make
/// values of about 1.
class OfPlainConvolution : public ::testing::Test {
 protected:
  OfPlainConvolution() {
    graph_ = parse(
        "graph \"g\" opset 17 (%x : f32[1,3,8,8]) -> (%y) {\n"
        "const %w : f32[2,3,1,1] = [0.5, -0.25, 0.5, 0.25, 0.5, -0.5]\n"
        "const %b : f32[2] = [0.5, -0.5]\n"
        "conv: %y = Conv(%x, %w, %b) : f32[1,2,8,8]\n}");
  }

  /// Of values between both, in no order.
  std::string words_of(float low, float high) const {
    std::vector<float> values(40 * 3 * 64);
    unsigned state = 7;
    for (float& value : values) {
      state = state * 1664525U + 1013904223U;
      value = low + (high - low) * static_cast<float>(state >> 8U) / 16777216.F;
    }
    return words(audit_inputs(
        graph_, SamplesInMemory({{"x", Tensor::of<float>({40, 3, 8, 8}, values)}})));
  }

  Graph graph_;
};

TEST_F(OfPlainConvolution, UsualPreparationsGetNoWarning) {
  EXPECT_EQ(words_of(-2.1F, 2.6F), "");
  EXPECT_EQ(words_of(-1, 1), "");
  EXPECT_EQ(words_of(0, 1), "");
  EXPECT_EQ(words_of(-124, 151), "");  // pixels less their mean
}

TEST_F(OfPlainConvolution, ValuesFarFromThemDo) {
  EXPECT_NE(words_of(-2.1F, 1111), "");  // mean and std of values to 1, of bytes
  EXPECT_NE(words_of(0, 255), "");
  EXPECT_NE(words_of(0, 0.004F), "");  // divided by 255 twice
}

TEST(SampleCount, OfLessThan32IsLittle) {
  EXPECT_TRUE(audit_sample_count(32).empty());
  ASSERT_EQ(audit_sample_count(31).size(), 1U);
  EXPECT_EQ(audit_sample_count(10)[0].kind, "few_samples");
  EXPECT_EQ(audit_sample_count(10)[0].what.find("there are only 10"), 0U);
}

}  // namespace
}  // namespace tare::test
