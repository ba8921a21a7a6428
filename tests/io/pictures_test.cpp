// What is held against golden files was made by Pillow: tests/io/golden/make_pictures.py.
#include "tare/dataset.h"

#include "io/golden_arrays.h"
#include "io/samples/picture.h"
#include "io/samples/presets.h"
#include "io/samples/resize.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tare::test {
namespace {

InputPreparation from_preset(std::string name) {
  InputPreparation said;
  said.preset = std::move(name);
  return said;
}
InputPreparation resized_to(std::string preset, std::vector<std::int64_t> size) {
  InputPreparation said = from_preset(std::move(preset));
  said.resize = std::move(size);
  return said;
}
InputPreparation cut_to(std::string preset, std::vector<std::int64_t> size) {
  InputPreparation said = from_preset(std::move(preset));
  said.crop = std::move(size);
  return said;
}

std::vector<std::uint8_t> golden_bytes(const std::string& name) {
  const Tensor array = golden_array(name);
  const auto view = array.view<std::uint8_t>();
  return {view.begin(), view.end()};
}

int largest_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

class DecodedPicture : public ::testing::TestWithParam<const char*> {};

TEST_P(DecodedPicture, HasThePixelsThatPillowFinds) {
  const Picture picture = with_channels(read_picture(golden(GetParam())), 3);
  EXPECT_EQ(picture.height, 29);
  EXPECT_EQ(picture.width, 37);
  EXPECT_EQ(largest_difference(picture.bytes, golden_bytes(std::string(GetParam()) + ".npy")),
            0);
}

INSTANTIATE_TEST_SUITE_P(, DecodedPicture,
                         ::testing::Values("photo.png", "gray.png", "two_levels.png",
                                           "palette.png", "transparent.png", "photo.jpg",
                                           "progressive.jpg", "gray.jpg", "inks.jpg",
                                           "photo.bmp", "palette.bmp", "two_levels.bmp"),
                         [](const auto& made) {
                           std::string name = made.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST_P(DecodedPicture, SaysItsSizeBeforeItIsDecoded) {
  const PictureSize size = size_of_picture(golden(GetParam()));
  EXPECT_EQ(size.height, 29);
  EXPECT_EQ(size.width, 37);
}

TEST(Pictures, AreGrayAsPillowMakesThem) {
  const Picture gray = with_channels(read_picture(golden("photo.png")), 1);
  EXPECT_EQ(largest_difference(gray.bytes, golden_bytes("luma.npy")), 0);
}

TEST(Pictures, AreWhatTheirBytesSayWhateverTheirNameIs) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "photo.jpg";
  write_bytes(path, bytes_of(golden("photo.png")));
  EXPECT_EQ(read_picture(path).bytes, read_picture(golden("photo.png")).bytes);
}

/// The promise is one byte of 255; the arithmetic is the same, so there is no difference.
TEST(Resizing, GivesThePixelsOfPillowsBilinear) {
  const Picture photo = read_picture(golden("photo.png"));
  for (const auto& [height, width] :
       {std::pair(14, 20), {58, 74}, {29, 13}, {90, 37}, {7, 100}, {1, 1}}) {
    const Picture result = resized(photo, {height, width});
    const std::string name =
        "resized_" + std::to_string(height) + "_" + std::to_string(width) + ".npy";
    EXPECT_EQ(largest_difference(result.bytes, golden_bytes(name)), 0) << name;
  }
}

TEST(Resizing, OfOneColorKeepsIt) {
  Picture picture = blank_picture(13, 7, 3);
  std::fill(picture.bytes.begin(), picture.bytes.end(), std::uint8_t{201});
  for (const auto& [height, width] : {std::pair(5, 5), {200, 3}, {1, 90}}) {
    const Picture result = resized(picture, {height, width});
    EXPECT_TRUE(std::all_of(result.bytes.begin(), result.bytes.end(),
                            [](std::uint8_t x) { return x == 201; }));
  }
}

TEST(EncodedPng, DecodesToTheSamePixels) {
  const Picture photo = read_picture(golden("photo.png"));
  EXPECT_EQ(decode_png(encode_png(photo)).bytes, photo.bytes);
}

class PictureSamples : public InFolder {
 protected:
  PictureSamples() {
    std::filesystem::create_directory(path("photos"));
    add("b.jpg", "photo.jpg");
    add("a.png", "photo.png");
  }
  void add(const std::string& name, const std::string& from) const {
    write_bytes(path("photos/" + name), bytes_of(golden(from)));
  }
  std::unique_ptr<Dataset> open(ModelInput input, InputPreparation said = {}) {
    return open_samples(path("photos"), {.inputs = {std::move(input)},
                                         .preparations = {{"x", std::move(said)}},
                                         .hdf5 = {},
                                         .notice = [this](const std::string& text) {
                                           notes_.push_back(text);
                                         }});
  }

  std::vector<std::string> notes_;
};

ModelInput input_of(Shape shape, DType dtype = DType::kFloat32) {
  return {.name = "x", .dtype = dtype, .shape = std::move(shape)};
}

TEST_F(PictureSamples, AreInTheOrderOfTheirNames) {
  const auto data = open(input_of({-1, 3, 29, 37}), from_preset("bytes"));
  ASSERT_EQ(data->size(), 2U);
  const std::vector<float> first = data->read("x", 0, 1).to_float();
  const std::vector<float> second = data->read("x", 1, 1).to_float();
  const auto png = golden_bytes("photo.png.npy");
  const auto jpeg = golden_bytes("photo.jpg.npy");
  EXPECT_EQ(first[0], png[0]);
  EXPECT_EQ(first[29 * 37], png[1]);  // green, behind all of red
  EXPECT_EQ(second[2 * 29 * 37 + 5], jpeg[5 * 3 + 2]);
  EXPECT_EQ(data->labels(), std::nullopt);
}

/// torchvision divides by 255 before it normalizes, which rounds at other places: 1e-6 are some
/// roundings of values up to 2.7 in float32.
TEST_F(PictureSamples, OfThePresetImagenetAreThoseOfTorchvision) {
  const auto data = open(input_of({1, 3, 28, 28}), resized_to("imagenet", {32}));
  const std::vector<float> ours = data->read("x", 0, 1).to_float();
  const std::vector<float> golden = golden_array("imagenet.npy").to_float();
  ASSERT_EQ(ours.size(), golden.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], golden[i], 1e-6) << i;
  }
}

TEST_F(PictureSamples, HaveTheirChannelsWhereAndHowTheInputWantsThem) {
  const auto png = golden_bytes("photo.png.npy");
  const auto last = open(input_of({1, 29, 37, 3}), from_preset("bytes"));
  const std::vector<float> rgb = last->read("x", 0, 1).to_float();
  EXPECT_EQ(std::vector<float>(png.begin(), png.end()), rgb);
  InputPreparation bgr = from_preset("bytes");
  bgr.color = Color::kBgr;
  bgr.mean = {1, 2, 3};
  const auto turned = open(input_of({1, 29, 37, 3}), bgr);
  const std::vector<float> values = turned->read("x", 0, 1).to_float();
  for (std::size_t i = 0; i < png.size(); ++i) {
    EXPECT_EQ(values[i],
              static_cast<float>(png[i / 3 * 3 + 2 - i % 3]) - static_cast<float>(i % 3 + 1));
  }
}

TEST_F(PictureSamples, StayBytesForInputsThatTakeBytes) {
  const auto data = open(input_of({1, 29, 37, 3}, DType::kUint8));
  EXPECT_EQ(data->inputs()[0].dtype, DType::kUint8);
  const Tensor sample = data->read("x", 0, 1);
  const auto bytes = sample.view<std::uint8_t>();
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), golden_bytes("photo.png.npy").begin()));
}

TEST_F(PictureSamples, FitInWithBarsOnBothSides) {
  InputPreparation said = from_preset("yolo");
  said.scale = 1.0F;
  const auto data = open(input_of({1, 3, 37, 37}), said);
  const std::vector<float> values = data->read("x", 0, 1).to_float();
  const auto png = golden_bytes("photo.png.npy");
  for (std::int64_t y = 0; y < 37; ++y) {
    const bool is_bar = y < 4 || y >= 33;  // (37 - 29) / 2
    for (std::int64_t x = 0; x < 37; ++x) {
      const float expected =
          is_bar ? 114
                 : static_cast<float>(png[static_cast<std::size_t>(((y - 4) * 37 + x) * 3)]);
      ASSERT_EQ(values[static_cast<std::size_t>(y * 37 + x)], expected) << y << " " << x;
    }
  }
}

TEST_F(PictureSamples, SayWhatWasGuessed) {
  (void)open(input_of({1, 3, 28, 28}));
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("preset 'imagenet'"), std::string::npos) << notes_[0];
  EXPECT_NE(notes_[0].find("[1,3,28,28]"), std::string::npos) << notes_[0];
  notes_.clear();
  (void)open(input_of({-1, 3, -1, -1}));
  ASSERT_EQ(notes_.size(), 2U);
  EXPECT_NE(notes_[1].find("224 x 224"), std::string::npos) << notes_[1];
  notes_.clear();
  (void)open(input_of({1, 3, 28, 28}), from_preset("unit"));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(PictureSamples, AreGuessedByTheShapeOfTheInput) {
  const auto guess = [](const ModelInput& input, std::int64_t channels, std::int64_t side,
                        bool last) {
    return std::string(guessed_preset(input, channels, side, last).name);
  };
  EXPECT_EQ(guess(input_of({1, 3, 224, 224}), 3, 224, false), "imagenet");
  EXPECT_EQ(guess(input_of({1, 224, 224, 3}), 3, 224, true), "imagenet-tf");
  EXPECT_EQ(guess(input_of({1, 3, 640, 640}), 3, 640, false), "yolo");
  EXPECT_EQ(guess(input_of({1, 3, 112, 112}), 3, 112, false), "face");
  EXPECT_EQ(guess(input_of({1, 1, 28, 28}), 1, 28, false), "gray");
  EXPECT_EQ(guess(input_of({1, 224, 224, 3}, DType::kUint8), 3, 224, true), "bytes");
}

TEST_F(PictureSamples, OfFoldersHaveTheirClassesAsLabels) {
  for (const char* folder : {"classes", "classes/cat", "classes/bird", "classes/dog"}) {
    std::filesystem::create_directory(path(folder));
  }
  for (const char* file : {"cat/1.png", "cat/2.png", "bird/1.png", "dog/1.png"}) {
    write_bytes(path("classes") / file, bytes_of(golden("photo.png")));
  }
  const auto data = open_samples(path("classes"), {.inputs = {input_of({1, 3, 28, 28})}});
  EXPECT_EQ(data->labels(), (std::vector<std::int64_t>{0, 1, 1, 2}));
}

TEST_F(PictureSamples, OfAListHaveItsOrderAndLabels) {
  write_bytes(path("list.txt"), "# two\nphotos/b.jpg 7\n\nphotos/a.png,-3\r\n");
  const auto data = open_samples(
      path("list.txt"),
      {.inputs = {input_of({1, 3, 29, 37})}, .preparations = {{"*", from_preset("bytes")}}});
  EXPECT_EQ(data->labels(), (std::vector<std::int64_t>{7, -3}));
  EXPECT_EQ(data->read("x", 0, 1).to_float()[0],
            static_cast<float>(golden_bytes("photo.jpg.npy")[0]));
}

TEST_F(PictureSamples, OfListsNameTheLinesThatAreWrong) {
  write_bytes(path("list.txt"), "photos/a.png 1\nphotos/b.jpg\nphotos/notes\n");
  EXPECT_EQ(message_of(
                [&] {
                  return open_samples(path("list.txt"), {.inputs = {input_of({1, 3, 8, 8})}});
                },
                ErrorCode::kInvalidData),
            "list.txt:2: has no label, expected one, as in the lines before\n"
            "list.txt:3: 'photos/notes' has no known suffix, expected HDF5, .npz, .npy, PNG, "
            "JPEG, BMP, WAV or .raw files");
}

TEST_F(PictureSamples, WhosePreparationDoesNotFitTheModelAreErrors) {
  const auto fault = [&](ModelInput input, InputPreparation said) {
    return message_of([&] { return open(std::move(input), std::move(said)); },
                      ErrorCode::kInvalidConfig);
  };
  EXPECT_EQ(fault(input_of({1, 3, 28, 28}), resized_to("imagenet", {20})),
            "input 'x': pictures are resized to 20 x 20 pixels, expected at least the "
            "28 x 28 that are cut out of them");
  EXPECT_EQ(fault(input_of({1, 3, 28, 28}), cut_to("imagenet", {24})),
            "input 'x': pictures would get 24 x 24 pixels, expected 28 x 28");
  EXPECT_EQ(fault(input_of({1, 1, 28, 28}), from_preset("unit")),
            "input 'x': has 1 channels, pictures 3, expected 'color: gray'");
  EXPECT_EQ(fault(input_of({1, 10}), {}),
            "input 'x': has shape [1,10], which pictures do not fill, expected [batch, "
            "channels, height, width] or another shape of an image");
  InputPreparation two = from_preset("unit");
  two.mean = {1, 2};
  EXPECT_EQ(fault(input_of({1, 3, 28, 28}), two),
            "input 'x': 'mean' has 2 numbers, expected 1 or 3");
}

TEST_F(PictureSamples, OfSeveralKindsAreAnError) {
  write_bytes(path("photos/c.npy"), bytes_of(golden("uint8.npy")));
  EXPECT_EQ(
      message_of(
          [&] {
            return open(input_of({1, 3, 28, 28}));
          },
          ErrorCode::kInvalidData),
      "photos: holds pictures ('a.png') and .npy files ('c.npy'), expected samples of one "
      "kind");
}

TEST_F(PictureSamples, OfAFolderWithoutAnyAreAnError) {
  std::filesystem::create_directory(path("empty"));
  write_bytes(path("empty/readme.txt"), "no samples here");
  write_bytes(path("empty/.hidden.png"), "");
  EXPECT_EQ(
      message_of(
          [&] {
            return open_samples(path("empty"), {.inputs = {input_of({1, 3, 8, 8})}});
          },
          ErrorCode::kInvalidData),
      "empty: is a folder without samples, expected HDF5, .npz, .npy, PNG, JPEG, BMP, WAV "
      "or .raw files, or a folder of them for each class");
}

TEST_F(PictureSamples, ForModelsOfSeveralInputsAreAnError) {
  const auto open_two = [&] {
    return open_samples(path("photos"),
                        {.inputs = {input_of({1, 3, 8, 8}), {.name = "y", .shape = Shape{1}}}});
  };
  EXPECT_NE(message_of(open_two, ErrorCode::kInvalidData)
                .find("pictures for a model of 2 inputs ('x', 'y')"),
            std::string::npos);
}

TEST_F(PictureSamples, ThatAreDamagedAreErrorsWithTheirNames) {
  add("c.png", "photo.bmp");
  write_bytes(path("photos/d.png"), bytes_of(golden("photo.png")).substr(0, 1000));
  write_bytes(path("photos/e.jpg"), bytes_of(golden("photo.jpg")).substr(0, 800));
  write_bytes(path("photos/f.png"), "text");
  const auto data = open(input_of({1, 3, 28, 28}));
  EXPECT_NO_THROW((void)data->read("x", 2, 1));  // BMP, whatever its name is
  const auto fault = [&](std::size_t sample) {
    return message_of([&] { return data->read("x", sample, 1); }, ErrorCode::kInvalidData);
  };
  EXPECT_NE(fault(3).find("photos/d.png: is a damaged PNG file"), std::string::npos)
      << fault(3);
  EXPECT_NE(fault(4).find("photos/e.jpg: is a damaged JPEG file"), std::string::npos)
      << fault(4);
  EXPECT_EQ(fault(5), "photos/f.png: is no picture, expected PNG, JPEG or BMP");
}

TEST_F(PictureSamples, ThatArePipesAreErrorsAndNobodyWaits) {
  ASSERT_EQ(::mkfifo(path("photos/c.png").c_str(), 0600), 0);
  EXPECT_NE(message_of(
                [&] {
                  return open(input_of({1, 3, 28, 28}));
                },
                ErrorCode::kIo)
                .find("photos/c.png: is a device or a pipe"),
            std::string::npos);
}

/// A PNG file of 2^31 - 1 pixels a side has 60 bytes.
TEST_F(PictureSamples, ThatClaimMorePixelsThanAnyPictureAreErrors) {
  std::string bomb = bytes_of(golden("photo.png"));
  for (std::size_t i = 16; i < 24; ++i) {
    bomb[i] = static_cast<char>(i % 4 == 0 ? 0x7F : 0xFF);
  }
  write_bytes(path("photos/a.png"), bomb);
  std::string bmp = bytes_of(golden("photo.bmp"));
  bmp[20] = 0x7F;  // width
  bmp[24] = 0x7F;  // height
  write_bytes(path("photos/b.jpg"), bmp);
  const auto data = open(input_of({1, 3, 28, 28}));
  for (std::size_t sample = 0; sample < 2; ++sample) {
    EXPECT_THROW((void)data->read("x", sample, 1), Error);
  }
}

}  // namespace
}  // namespace tare::test
