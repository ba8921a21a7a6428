// The C interface from outside: handles, errors as values, samples and callbacks of the caller.
#include "tare/c.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const std::string kModel = TARE_DATA "digits.onnx";
const std::string kSamples = TARE_DATA "digits_calibration.h5";

/// The code and the message of an error, which is freed; 0 and nothing where there is none.
struct Outcome {
  explicit Outcome(tare_error* error) {
    if (error != nullptr) {
      code = tare_error_code(error);
      message = tare_error_message(error);
      tare_error_free(error);
    }
  }
  int code = 0;
  std::string message{};
};

template <class T, void (*Free)(T*)>
struct Freed {
  T* value = nullptr;
  Freed() = default;
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
  ~Freed() { Free(value); }
};
using Model = Freed<tare_model, tare_model_free>;
using Samples = Freed<tare_samples, tare_samples_free>;
using Config = Freed<tare_config, tare_config_free>;
using Quantized = Freed<tare_quantized, tare_quantized_free>;

class CInterface : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tare_model_open(kModel.c_str(), &model.value), nullptr);
    ASSERT_EQ(tare_config_new(&config.value), nullptr);
    ASSERT_EQ(tare_config_set(config.value, "accuracy.effort=fast"), nullptr);
  }

  Outcome quantize(const tare_samples* samples, const tare_job* job = nullptr) {
    tare_quantized_free(result.value);
    result.value = nullptr;
    return Outcome(tare_quantize(model.value, samples, config.value, job, &result.value));
  }

  std::string table() {
    char* json = nullptr;
    EXPECT_EQ(tare_quantized_table(result.value, &json), nullptr);
    std::string text = json == nullptr ? "" : json;
    tare_free(json);
    return text;
  }

  Model model;
  Config config;
  Quantized result;
};

/// 16 images of 16 by 16, none like another.
std::vector<float> images() {
  std::vector<float> values(16 * 256);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 37 + i / 256) % 101) / 101;
  }
  return values;
}

constexpr std::array<std::int64_t, 4> kShape{16, 1, 16, 16};

tare_array array_of(const std::vector<float>& values, const std::int64_t* shape,
                    const std::int64_t* strides = nullptr) {
  return {"image", values.data(), shape, strides, 4, TARE_F32};
}

TEST_F(CInterface, TellsItsVersion) {
  EXPECT_EQ(tare_c_version(), TARE_C_VERSION);
  EXPECT_STREQ(tare_version(), "0.1.0");
  char* json = nullptr;
  ASSERT_EQ(tare_describe(&json), nullptr);
  EXPECT_NE(std::string(json).find("\"percentile\""), std::string::npos);
  tare_free(json);
}

TEST_F(CInterface, SaysWhichArgumentIsNull) {
  EXPECT_EQ(Outcome(tare_model_open(nullptr, &model.value)).message,
            "argument 'path': is NULL");
  EXPECT_EQ(Outcome(tare_quantize(nullptr, nullptr, nullptr, nullptr, &result.value)).code,
            TARE_INVALID_CONFIG);
  tare_model_free(nullptr);
  tare_samples_free(nullptr);
  tare_quantized_free(nullptr);
  tare_error_free(nullptr);
  tare_free(nullptr);
}

TEST_F(CInterface, ReadsArraysWhereTheyAreWhateverTheirStrides) {
  const std::vector<float> values = images();
  const tare_array plain = array_of(values, kShape.data());
  // The same images with their axes in another order in memory.
  std::vector<float> turned(values.size());
  for (std::size_t n = 0; n < 16; ++n) {
    for (std::size_t y = 0; y < 16; ++y) {
      for (std::size_t x = 0; x < 16; ++x) {
        turned[(x * 16 + y) * 16 + n] = values[(n * 16 + y) * 16 + x];
      }
    }
  }
  const std::array<std::int64_t, 4> strides{4, 4, 64, 1024};
  const tare_array other = array_of(turned, kShape.data(), strides.data());
  Samples first;
  Samples second;
  ASSERT_EQ(tare_samples_of_arrays(&plain, 1, &first.value), nullptr);
  ASSERT_EQ(tare_samples_of_arrays(&other, 1, &second.value), nullptr);
  ASSERT_EQ(quantize(first.value).message, "");
  const std::string expected = table();
  ASSERT_EQ(quantize(second.value).message, "");
  EXPECT_EQ(table(), expected);
}

struct Pieces {
  std::vector<float> values = images();
  std::array<std::int64_t, 4> shape{3, 1, 16, 16};
  tare_array array{};
  std::int64_t given = 0;
  std::int64_t fails_at = -1;

  static int next(void* context, const tare_array** arrays, std::size_t* count) {
    auto& pieces = *static_cast<Pieces*>(context);
    if (pieces.given == pieces.fails_at) {
      return -1;
    }
    if (pieces.given == 16) {
      return 0;
    }
    pieces.shape[0] = std::min<std::int64_t>(3, 16 - pieces.given);
    pieces.array = {
        "image", pieces.values.data() + pieces.given * 256, pieces.shape.data(), nullptr, 4,
        TARE_F32};
    pieces.given += pieces.shape[0];
    *arrays = &pieces.array;
    *count = 1;
    return 1;
  }
};

TEST_F(CInterface, StreamsGiveWhatArraysGive) {
  Pieces pieces;
  const tare_stream stream{&pieces, Pieces::next};
  const tare_array all = array_of(pieces.values, kShape.data());
  Samples first;
  Samples second;
  ASSERT_EQ(tare_samples_of_arrays(&all, 1, &first.value), nullptr);
  ASSERT_EQ(Outcome(tare_samples_of_stream(&stream, &second.value)).message, "");
  EXPECT_EQ(tare_samples_count(second.value), 16U);
  ASSERT_EQ(quantize(first.value).message, "");
  const std::string expected = table();
  ASSERT_EQ(quantize(second.value).message, "");
  EXPECT_EQ(table(), expected);
}

TEST_F(CInterface, PiecesGiveWhatArraysGive) {
  const std::vector<float> values = images();
  const tare_array all = array_of(values, kShape.data());
  std::array<std::array<std::int64_t, 4>, 3> shapes{
      {{5, 1, 16, 16}, {0, 1, 16, 16}, {11, 1, 16, 16}}};
  std::array<tare_array, 3> arrays{};
  std::size_t first_image = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    arrays[i] = {"image", values.data() + first_image * 256, shapes[i].data(), nullptr, 4,
                 TARE_F32};
    first_image += static_cast<std::size_t>(shapes[i][0]);
  }
  const std::array<std::size_t, 3> counts{1, 1, 1};
  Samples first;
  Samples second;
  ASSERT_EQ(tare_samples_of_arrays(&all, 1, &first.value), nullptr);
  ASSERT_EQ(
      Outcome(tare_samples_of_pieces(arrays.data(), counts.data(), 3, &second.value)).message,
      "");
  EXPECT_EQ(tare_samples_count(second.value), 16U);
  ASSERT_EQ(quantize(first.value).message, "");
  const std::string expected = table();
  ASSERT_EQ(quantize(second.value).message, "");
  EXPECT_EQ(table(), expected);
}

TEST_F(CInterface, PiecesOfShapesThatTheModelDoesNotTakeAreErrors) {
  const std::vector<float> values = images();
  const std::array<std::int64_t, 4> wide{1, 1, 8, 32};
  const std::array<std::int64_t, 3> flat{1, 16, 16};
  const std::array<std::size_t, 2> counts{1, 1};
  std::array<tare_array, 2> arrays{
      array_of(values, kShape.data()),
      tare_array{"image", values.data(), wide.data(), nullptr, 4, TARE_F32}};
  Samples samples;
  ASSERT_EQ(
      Outcome(tare_samples_of_pieces(arrays.data(), counts.data(), 2, &samples.value)).message,
      "");
  EXPECT_NE(
      quantize(samples.value)
          .message.find("input 'image': sample 16 has shape [1,8,32], expected [1,16,16]"),
      std::string::npos);
  arrays[1] = {"image", values.data(), flat.data(), nullptr, 3, TARE_F32};
  Samples others;
  const Outcome refused(tare_samples_of_pieces(arrays.data(), counts.data(), 2, &others.value));
  EXPECT_EQ(refused.code, TARE_INVALID_DATA);
  EXPECT_EQ(
      refused.message,
      "samples from 16 on: input 'image' is f32[16,16], expected f32[1,16,16] as in those "
      "before");
}

TEST_F(CInterface, AStreamThatFailsEndsTheCall) {
  Pieces pieces;
  pieces.fails_at = 6;
  const tare_stream stream{&pieces, Pieces::next};
  Samples samples;
  EXPECT_EQ(Outcome(tare_samples_of_stream(&stream, &samples.value)).code, TARE_CALLBACK);
  EXPECT_EQ(samples.value, nullptr);
}

int copy_images(void* context, std::size_t, std::size_t first, std::size_t count, void* data) {
  const auto& values = *static_cast<const std::vector<float>*>(context);
  std::memcpy(data, values.data() + first * 256, count * 256 * sizeof(float));
  return 0;
}

TEST_F(CInterface, SourcesGiveWhatArraysGive) {
  std::vector<float> values = images();
  const std::array<std::int64_t, 3> sample{1, 16, 16};
  const tare_array input{"image", nullptr, sample.data(), nullptr, 3, TARE_F32};
  const tare_source source{&values, 16, &input, 1, copy_images};
  const tare_array all = array_of(values, kShape.data());
  Samples first;
  Samples second;
  ASSERT_EQ(tare_samples_of_arrays(&all, 1, &first.value), nullptr);
  ASSERT_EQ(Outcome(tare_samples_of_source(&source, &second.value)).message, "");
  ASSERT_EQ(quantize(first.value).message, "");
  const std::string expected = table();
  ASSERT_EQ(quantize(second.value).message, "");
  EXPECT_EQ(table(), expected);
}

int stop(void* context, const char*, std::size_t, std::size_t) {
  ++*static_cast<int*>(context);
  return 1;
}

TEST_F(CInterface, StatesFlowBackInSamplesOfTheCaller) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("states" + std::to_string(getpid()) + ".tir");
  std::ofstream(file) << "graph \"g\" opset 17 (%x : f32[1,1], %h : f32[1,1]) -> (%y) {\n"
                         "  %y = Add(%h, %x) : f32[1,1]\n}\n";
  Model adder;
  Config states;
  ASSERT_EQ(tare_model_open(file.c_str(), &adder.value), nullptr);
  ASSERT_EQ(tare_config_new(&states.value), nullptr);
  ASSERT_EQ(tare_config_read_text(states.value, "{state: {h: y}, steps: 3}"), nullptr);
  const std::vector<float> values{1, 2, 3, 4, 5};
  constexpr std::array<std::int64_t, 2> kSteps{5, 1};
  const tare_array array{"x", values.data(), kSteps.data(), nullptr, 2, TARE_F32};
  Samples given;
  Samples steps;
  ASSERT_EQ(tare_samples_of_arrays(&array, 1, &given.value), nullptr);
  EXPECT_EQ(
      Outcome(tare_samples_with_states(given.value, nullptr, states.value, &steps.value)).code,
      TARE_INVALID_CONFIG);
  ASSERT_EQ(
      Outcome(tare_samples_with_states(given.value, adder.value, states.value, &steps.value))
          .message,
      "");
  std::vector<float> sums;
  const auto take = [](void* context, std::size_t, const tare_array* outputs, std::size_t) {
    static_cast<std::vector<float>*>(context)->push_back(
        *static_cast<const float*>(outputs[0].data));
    return 0;
  };
  EXPECT_EQ(Outcome(tare_run(adder.value, steps.value, nullptr, nullptr, nullptr, take, &sums))
                .message,
            "");
  EXPECT_EQ(sums, (std::vector<float>{1, 3, 6, 4, 9}));
  std::filesystem::remove(file);
}

TEST_F(CInterface, ProgressMayEndTheWork) {
  Samples samples;
  ASSERT_EQ(tare_samples_open(kSamples.c_str(), nullptr, nullptr, nullptr, &samples.value),
            nullptr);
  int calls = 0;
  tare_job job{};
  job.size = sizeof(job);
  job.context = &calls;
  job.progress = stop;
  EXPECT_EQ(quantize(samples.value, &job).code, TARE_CANCELLED);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result.value, nullptr);
}

TEST_F(CInterface, AJobWithoutItsSizeIsAnError) {
  tare_job job{};
  EXPECT_NE(quantize(nullptr, &job).message.find("expected 'size' set to sizeof(tare_job)"),
            std::string::npos);
}

int half(void*, const tare_histogram* seen, const tare_spec*, double* low, double* high) {
  *low = seen->low / 2;
  *high = seen->high / 2;
  return 0;
}
int never(void*, const tare_histogram*, const tare_spec*, double* low, double* high) {
  *low = 1;
  *high = 0;
  return 0;
}
int fails(void*, const tare_histogram*, const tare_spec*, double*, double*) {
  return 1;
}

TEST_F(CInterface, CalibratorsOfTheCallerChoose) {
  Samples samples;
  ASSERT_EQ(tare_samples_open(kSamples.c_str(), nullptr, nullptr, nullptr, &samples.value),
            nullptr);
  const std::array<tare_calibrator, 3> own{tare_calibrator{"half", nullptr, half},
                                           tare_calibrator{"never", nullptr, never},
                                           tare_calibrator{"fails", nullptr, fails}};
  for (const tare_calibrator& calibrator : own) {
    ASSERT_EQ(tare_config_add_calibrator(config.value, &calibrator), nullptr);
  }
  EXPECT_NE(Outcome(tare_config_add_calibrator(config.value, own.data())).message.find("taken"),
            std::string::npos);
  ASSERT_EQ(tare_config_set(config.value, "activations.calibrator=half"), nullptr);
  ASSERT_EQ(quantize(samples.value).message, "");
  EXPECT_NE(table().find("\"half\""), std::string::npos);
  ASSERT_EQ(tare_config_set(config.value, "activations.calibrator=never"), nullptr);
  EXPECT_NE(quantize(samples.value).message.find("expected two finite numbers"),
            std::string::npos);
  ASSERT_EQ(tare_config_set(config.value, "activations.calibrator=fails"), nullptr);
  EXPECT_EQ(quantize(samples.value).code, TARE_CALLBACK);
}

TEST_F(CInterface, WritesNothingOverItsInput) {
  Samples samples;
  const std::string copy = testing::TempDir() + "c_interface_copy.onnx";
  std::filesystem::copy_file(kModel, copy, std::filesystem::copy_options::overwrite_existing);
  Model own;
  ASSERT_EQ(tare_model_open(copy.c_str(), &own.value), nullptr);
  ASSERT_EQ(tare_samples_open(kSamples.c_str(), nullptr, nullptr, nullptr, &samples.value),
            nullptr);
  ASSERT_EQ(tare_quantize(own.value, samples.value, config.value, nullptr, &result.value),
            nullptr);
  const Outcome outcome(tare_quantized_write(result.value, copy.c_str(), nullptr));
  EXPECT_EQ(outcome.code, TARE_IO);
  EXPECT_NE(outcome.message.find("is the same file as the input"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(copy), std::filesystem::file_size(kModel));
}

TEST_F(CInterface, AChildOfAProcessThatUsedItIsRefused) {
  ASSERT_EQ(tare_config_check(config.value), nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const Outcome outcome(tare_config_check(config.value));
    _exit(outcome.message.find("is a fork of one that has used the library") !=
                  std::string::npos
              ? 0
              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
