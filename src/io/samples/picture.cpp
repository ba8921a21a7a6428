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
constexpr std::uint64_t kUsualHead = std::uint64_t{1} << 16;  // sizes are in it

bool begins_with(FileBytes bytes, std::string_view start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

struct PictureReader {
  std::string_view start;  ///< of such a file
  Picture (*decode)(FileBytes);
  PictureSize (*size)(FileBytes);
};

const PictureReader& reader_of(FileBytes bytes) {
  static constexpr std::array<PictureReader, 3> kReaders{
      {{"\x89PNG\r\n\x1a\n", decode_png, png_size},
       {"\xFF\xD8\xFF", decode_jpeg, jpeg_size},
       {"BM", decode_bmp, bmp_size}}};
  const auto reader =
      std::find_if(kReaders.begin(), kReaders.end(),
                   [&](const PictureReader& each) { return begins_with(bytes, each.start); });
  if (reader == kReaders.end()) {
    throw Error(ErrorCode::kInvalidData, "", "is no picture").expected("PNG, JPEG or BMP");
  }
  return *reader;
}

/// What `take` makes of the first bytes of a file.
template <class Take>
auto from_file(const std::filesystem::path& path, std::uint64_t most, const Take& take) {
  const InputFile file(path);
  try {
    if (file.size() > kMostBytes) {
      throw Error(ErrorCode::kInvalidData, "", "is larger than 256 MiB").expected("a picture");
    }
    std::vector<std::uint8_t> bytes(std::min(file.size(), most));
    file.read(0, std::as_writable_bytes(std::span(bytes)));
    return take(FileBytes(bytes));
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace

void require_pixels(PictureSize size) {
  if (size.height <= 0 || size.width <= 0) {
    throw Error(ErrorCode::kInvalidData, "", "the picture has no pixels");
  }
  if (size.height > kMostPixels / size.width) {
    throw Error(ErrorCode::kInvalidData, "",
                "claims " + std::to_string(size.width) + " x " + std::to_string(size.height) +
                    " pixels")
        .expected("at most " + std::to_string(kMostPixels));
  }
}

Picture blank_picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
  require_pixels({height, width});
  Picture picture{.height = height, .width = width, .channels = channels, .bytes = {}};
  picture.bytes.resize(static_cast<std::size_t>(height) * picture.row_bytes());
  return picture;
}

Picture read_picture(const std::filesystem::path& path) {
  return from_file(path, kMostBytes,
                   [](FileBytes bytes) { return reader_of(bytes).decode(bytes); });
}

PictureSize size_of_picture(const std::filesystem::path& path) {
  const auto size = [](FileBytes bytes) {
    const PictureSize found = reader_of(bytes).size(bytes);
    require_pixels(found);
    return found;
  };
  try {
    return from_file(path, kUsualHead, size);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidData) {
      throw;
    }
  }
  return from_file(path, kMostBytes, size);  // maybe behind colour profiles and small pictures
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
