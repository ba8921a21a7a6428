#include "io/samples/picture.h"

#include "tare/error.h"

#include "base/input_file.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tare {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;

bool begins_with(FileBytes bytes, std::string_view start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

Picture decode(FileBytes bytes) {
  if (begins_with(bytes, "\x89PNG\r\n\x1a\n")) {
    return decode_png(bytes);
  }
  if (begins_with(bytes, "\xFF\xD8\xFF")) {
    return decode_jpeg(bytes);
  }
  if (begins_with(bytes, "BM")) {
    return decode_bmp(bytes);
  }
  throw Error(ErrorCode::kInvalidData, "", "is no picture").expected("PNG, JPEG or BMP");
}

}  // namespace

Picture blank_picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
  if (height <= 0 || width <= 0) {
    throw Error(ErrorCode::kInvalidData, "", "the picture has no pixels");
  }
  if (height > kMostPixels / width) {
    throw Error(ErrorCode::kInvalidData, "",
                "claims " + std::to_string(width) + " x " + std::to_string(height) + " pixels")
        .expected("at most " + std::to_string(kMostPixels));
  }
  Picture picture{.height = height, .width = width, .channels = channels, .bytes = {}};
  picture.bytes.resize(static_cast<std::size_t>(height) * picture.row_bytes());
  return picture;
}

Picture read_picture(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    if (file.size() > kMostBytes) {
      throw Error(ErrorCode::kInvalidData, "", "is larger than 256 MiB").expected("a picture");
    }
    const std::string contents = file.contents();
    return decode({reinterpret_cast<const std::uint8_t*>(contents.data()), contents.size()});
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

Picture with_channels(Picture picture, std::int64_t channels) {
  if (picture.channels == channels) {
    return picture;
  }
  Picture result = blank_picture(picture.height, picture.width, channels);
  const auto pixels = static_cast<std::size_t>(picture.height * picture.width);
  const std::uint8_t* from = picture.bytes.data();
  std::uint8_t* to = result.bytes.data();
  if (channels == 3) {
    for (std::size_t i = 0; i < pixels; ++i) {
      std::fill_n(to + 3 * i, 3, from[i]);
    }
    return result;
  }
  constexpr std::array<std::uint32_t, 3> kWeights{19595, 38470, 7471};
  constexpr std::uint32_t kHalf = 1U << 15U;
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* pixel = from + 3 * i;
    to[i] = static_cast<std::uint8_t>(
        (kWeights[0] * pixel[0] + kWeights[1] * pixel[1] + kWeights[2] * pixel[2] + kHalf) >>
        16U);
  }
  return result;
}

}  // namespace tare
