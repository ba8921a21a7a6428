// WAV files, written here byte by byte.
#include "tare/dataset.h"

#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/sound.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<std::int16_t> ramp(int count) {
  std::vector<std::int16_t> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back(static_cast<std::int16_t>(i * 100 - 500));
  }
  return samples;
}

class Recordings : public InFolder {
 protected:
  std::unique_ptr<Dataset> open(Shape shape, InputPreparation said = {}) const {
    return open_samples(path("a.wav"), {.inputs = {{.name = "x", .shape = std::move(shape)}},
                                        .preparations = {{"x", std::move(said)}}});
  }
  void write(const std::string& bytes) const { write_bytes(path("a.wav"), bytes); }
};

TEST_F(Recordings, AreCutIntoWindowsOfTheInput) {
  write(wav_file(ramp(11)));
  const auto data = open({1, 4});
  ASSERT_EQ(data->size(), 2U);  // the last three are left over
  EXPECT_EQ(data->inputs()[0].shape, (Shape{4}));
  const std::vector<float> all = data->read("x", 0, 2).to_float();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i], static_cast<float>(static_cast<int>(i) * 100 - 500) / 32768.0F);
  }
}

TEST_F(Recordings, ThatAreShorterThanAWindowEndInSilence) {
  write(wav_file(ramp(3)));
  const auto data = open({-1, 1, -1}, [] {
    InputPreparation said;
    said.length = 5;
    said.scale = 32768;
    return said;
  }());
  ASSERT_EQ(data->size(), 1U);
  EXPECT_EQ(data->inputs()[0].shape, (Shape{1, 5}));
  EXPECT_EQ(data->read("x", 0, 1).to_float(), (std::vector<float>{-500, -400, -300, 0, 0}));
}

TEST_F(Recordings, OfSeveralChannelsAreTheirMeanOrStayApart) {
  write(wav_file({100, 300, 200, 600}, 2));
  InputPreparation said;
  said.scale = 32768;
  EXPECT_EQ(open({1, 2}, said)->read("x", 0, 1).to_float(), (std::vector<float>{200, 400}));
  const auto apart = open({1, 2, 2}, said);
  EXPECT_EQ(apart->read("x", 0, 1).to_float(), (std::vector<float>{100, 200, 300, 600}));
}

TEST_F(Recordings, OfAnotherRateThanIsSaidAreErrors) {
  write(wav_file(ramp(4), 1, 44100));
  InputPreparation said;
  said.rate = 16000;
  EXPECT_EQ(message_of(
                [&] {
                  return open({1, 4}, said);
                },
                ErrorCode::kInvalidData),
            "a.wav: has 44100 samples per second, expected 16000");
}

TEST_F(Recordings, WithoutAnythingThatSaysHowLongTheyAreAreErrors) {
  write(wav_file(ramp(4)));
  EXPECT_NE(message_of(
                [&] {
                  return open({1, -1});
                },
                ErrorCode::kInvalidConfig)
                .find("input 'x': its shape does not say how long a recording is"),
            std::string::npos);
}

TEST_F(Recordings, ThatAreCutOffAnywhereAreErrors) {
  const std::string whole = wav_file(ramp(100));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_NE(message_of(
                  [&] {
                    return open({1, 4});
                  },
                  ErrorCode::kInvalidData),
              "no error")
        << size;
  }
}

}  // namespace
}  // namespace tare::test
