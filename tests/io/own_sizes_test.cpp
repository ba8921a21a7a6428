// Pictures and recordings that keep their size, for models that leave it open.
#include "tare/dataset.h"

#include "io/golden_arrays.h"
#include "io/samples/picture.h"
#include "io/samples/resize.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/sound.h"

#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Picture random_picture(std::int64_t height, std::int64_t width) {
  Picture picture = blank_picture(height, width, 3);
  std::mt19937 random(static_cast<unsigned>(height * 1000 + width));
  for (std::uint8_t& byte : picture.bytes) {
    byte = static_cast<std::uint8_t>(random());
  }
  return picture;
}

InputPreparation as_they_are(std::optional<std::int64_t> multiple_of = {}) {
  InputPreparation said;
  said.preset = "bytes";
  said.fit = Fit::kNone;
  said.multiple_of = multiple_of;
  return said;
}

class OwnSizes : public InFolder {
 protected:
  void write(const std::string& name, const Picture& picture) const {
    const std::vector<std::uint8_t> file = encode_png(picture);
    write_bytes(path(name), std::string(file.begin(), file.end()));
  }
  std::unique_ptr<Dataset> opened(InputPreparation said, Shape shape = {-1, 3, -1, -1}) const {
    return open_samples(folder_, {.inputs = {{.name = "x", .shape = std::move(shape)}},
                                  .preparations = {{"x", std::move(said)}}});
  }
};

TEST_F(OwnSizes, OfPicturesAreThoseOfTheirSamples) {
  write("a.png", random_picture(20, 30));
  write("b.png", random_picture(33, 9));
  const auto data = opened(as_they_are());
  EXPECT_TRUE(data->has_several_shapes());
  EXPECT_EQ(data->inputs()[0].shape, (Shape{3, 20, 30}));  // of the largest
  EXPECT_EQ(data->read("x", 0, 1).shape(), (Shape{1, 3, 20, 30}));
  const Tensor x = data->read("x", 1, 1);
  ASSERT_EQ(x.shape(), (Shape{1, 3, 33, 9}));
  const Picture picture = random_picture(33, 9);
  for (std::size_t i = 0; i < picture.bytes.size(); ++i) {
    const std::size_t place = i % 3 * 33 * 9 + i / 3;
    ASSERT_EQ(x.view<float>()[place], static_cast<float>(picture.bytes[i])) << i;
  }
  // Channels behind.
  EXPECT_EQ(opened(as_they_are(), {-1, -1, -1, 3})->read("x", 1, 1).shape(),
            (Shape{1, 33, 9, 3}));
}

TEST_F(OwnSizes, AreCutToTheMiddleWhereTheyHaveToBeMultiples) {
  const Picture picture = random_picture(45, 38);
  write("a.png", picture);
  const Tensor x = opened(as_they_are(16))->read("x", 0, 1);
  ASSERT_EQ(x.shape(), (Shape{1, 3, 32, 32}));
  for (std::size_t row = 0; row < 32; ++row) {
    for (std::size_t column = 0; column < 32; ++column) {
      // 13 and 6 are cut off; of 6.5 rows above, half to even.
      const std::size_t from = ((row + 6) * 38 + column + 3) * 3;
      ASSERT_EQ(x.view<float>()[row * 32 + column], static_cast<float>(picture.bytes[from]));
    }
  }
}

TEST_F(OwnSizes, MayBeThoseAfterResizingTheShorterSide) {
  const Picture picture = random_picture(40, 100);
  write("a.png", picture);
  InputPreparation said = as_they_are(4);
  said.resize = {10};
  const Tensor x = opened(said)->read("x", 0, 1);
  ASSERT_EQ(x.shape(), (Shape{1, 3, 8, 24}));
  const Picture expected = cut_from_middle(resized(picture, {10, 25}), {8, 24});
  for (std::size_t i = 0; i < std::size_t{8} * 24; ++i) {
    ASSERT_EQ(x.view<float>()[i], static_cast<float>(expected.bytes[3 * i])) << i;
  }
}

TEST_F(OwnSizes, ThatTheModelOrThePreparationDecidesAreErrors) {
  write("a.png", random_picture(20, 30));
  const auto fault = [&](const InputPreparation& said, const Shape& shape) {
    return message_of([&] { opened(said, shape); }, ErrorCode::kInvalidConfig);
  };
  EXPECT_EQ(
      fault(as_they_are(), {-1, 3, 224, 224}),
      "input 'x': pictures would keep their size ('fit: none'), expected 224 x 224 pixels");
  EXPECT_EQ(fault(as_they_are(), {-1, 3, 224, -1}),
            "input 'x': pictures would keep their size ('fit: none'), expected 224 x ? pixels");
  InputPreparation cut = as_they_are();
  cut.crop = {10};
  EXPECT_EQ(
      fault(cut, {-1, 3, -1, -1}),
      "input 'x': pictures would keep their size ('fit: none') and get another, expected no "
      "'crop', and the shorter side as 'resize' at most");
  InputPreparation stretched = as_they_are(16);
  stretched.fit = Fit::kStretch;
  EXPECT_EQ(
      fault(stretched, {-1, 3, -1, -1}),
      "input 'x': 'multiple_of' is about pictures that keep their size, expected 'fit: none' "
      "beside it");
  EXPECT_EQ(message_of([&] { opened(as_they_are(32)); }, ErrorCode::kInvalidData),
            "a.png: has 20 x 30 pixels, expected sides of at least 32, by 'multiple_of'");
}

TEST_F(OwnSizes, AreSaidOnTheContactSheet) {
  write("a.png", random_picture(20, 30));
  write("b.png", random_picture(33, 9));
  const std::string page =
      contact_sheet(*opened(as_they_are()),
                    {.title = "t", .model = "m", .inputs = {}, .notes = {}, .warnings = {}});
  for (const char* each : {"[3,20,30] in the largest sample", "<figcaption>[3,20,30]",
                           "<figcaption>[3,33,9]", "data:image/png"}) {
    EXPECT_NE(page.find(each), std::string::npos) << each;
  }
}

TEST_F(OwnSizes, OfRecordingsAreTheirLengths) {
  write_bytes(path("a.wav"), wav_file({1, 2, 3, 4, 5}));
  write_bytes(path("b.wav"), wav_file({6, 7, 8}));
  InputPreparation said;
  said.length = kWholeLength;
  said.scale = 32768;
  const auto data = opened(said, {-1, -1});
  ASSERT_EQ(data->size(), 2U);
  EXPECT_TRUE(data->has_several_shapes());
  EXPECT_EQ(data->read("x", 0, 1), Tensor::of<float>({1, 5}, {1.0F, 2.0F, 3.0F, 4.0F, 5.0F}));
  EXPECT_EQ(data->read("x", 1, 1), Tensor::of<float>({1, 3}, {6.0F, 7.0F, 8.0F}));
  said.multiple_of = 2;
  const auto even = opened(said, {-1, 1, -1});
  EXPECT_EQ(even->read("x", 0, 1), Tensor::of<float>({1, 1, 4}, {1.0F, 2.0F, 3.0F, 4.0F}));
  EXPECT_EQ(even->read("x", 1, 1), Tensor::of<float>({1, 1, 2}, {6.0F, 7.0F}));
  said.multiple_of = 4;
  EXPECT_EQ(message_of(
                [&] {
                  opened(said, {-1, -1});
                },
                ErrorCode::kInvalidData),
            "b.wav: has 3 samples, expected 4 to 67108864");
  EXPECT_EQ(message_of(
                [&] {
                  opened(said, {-1, 16000});
                },
                ErrorCode::kInvalidConfig),
            "input 'x': recordings would be of any length ('length: whole'), expected 16000");
  said.length = 2;
  EXPECT_EQ(
      message_of(
          [&] {
            opened(said, {-1, -1});
          },
          ErrorCode::kInvalidConfig),
      "input 'x': 'multiple_of' is about whole recordings, expected 'length: whole' beside "
      "it");
}

}  // namespace
}  // namespace tare::test
