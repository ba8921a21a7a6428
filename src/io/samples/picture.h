#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace tare {

/// Bytes of pixels, row by row from the top, the channels of a pixel together.
struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 3;  ///< 1 is gray, 3 are red, green and blue
  std::vector<std::uint8_t> bytes;

  std::size_t row_bytes() const { return static_cast<std::size_t>(width * channels); }
};

struct PictureSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// No picture of a sample has more pixels, and nothing that claims to is decoded.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

/// What a PNG, JPEG or BMP file shows; which of them it is goes by its first bytes. Channels
/// are what Pillow's `convert("RGB")` makes of them, or one of a gray picture: what is
/// transparent is shown, and a note how to turn it is not followed. Throws Error(kIo), and
/// Error(kInvalidData) with the path for a file that is no such picture, is damaged, ends too
/// early or has more than kMostPixels.
Picture read_picture(const std::filesystem::path&);

/// Of such a file, by what is before its pixels.
PictureSize size_of_picture(const std::filesystem::path&);

/// Gray or not, as Pillow converts: (19595 R + 38470 G + 7471 B + 2^15) / 2^16.
Picture with_channels(Picture, std::int64_t channels);

// The formats. They throw Error(kInvalidData) with an empty `where`.

using FileBytes = std::span<const std::uint8_t>;
Picture decode_png(FileBytes);
Picture decode_jpeg(FileBytes);
Picture decode_bmp(FileBytes);
PictureSize png_size(FileBytes);
PictureSize jpeg_size(FileBytes);
PictureSize bmp_size(FileBytes);

/// A PNG file of a picture of 1 or 3 channels.
std::vector<std::uint8_t> encode_png(const Picture&);

/// Throws Error(kInvalidData) unless a picture of that size has 1 to kMostPixels.
void require_pixels(PictureSize);

/// An empty picture of that size, which require_pixels() has to take.
Picture blank_picture(std::int64_t height, std::int64_t width, std::int64_t channels);

}  // namespace tare
