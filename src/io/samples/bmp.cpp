// BMP files of Windows: without compression, 1, 4 or 8 bits of a palette, 24 or 32 bits of
// colour. Pixels may be stored from the bottom up; rows fill whole words.
#include "tare/error.h"

#include "io/samples/picture.h"

#include <array>
#include <string>

namespace tare {
namespace {

constexpr std::size_t kFileHeader = 14;

Error bad_bmp(const std::string& what) {
  return {ErrorCode::kInvalidData, "", "is a BMP file that " + what};
}

/// Little-endian integers, none of which lies outside.
class BmpBytes {
 public:
  explicit BmpBytes(FileBytes bytes) : bytes_(bytes) {}

  std::uint8_t byte(std::size_t at) const {
    require(at, 1);
    return bytes_[at];
  }
  std::uint32_t u16(std::size_t at) const {
    return byte(at) | (std::uint32_t{byte(at + 1)} << 8U);
  }
  std::uint32_t u32(std::size_t at) const { return u16(at) | (u16(at + 2) << 16U); }
  std::int32_t i32(std::size_t at) const { return static_cast<std::int32_t>(u32(at)); }
  void require(std::size_t at, std::size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) {
      throw bad_bmp("ends too early");
    }
  }
  const std::uint8_t* data() const { return bytes_.data(); }

 private:
  FileBytes bytes_;
};

struct BmpHead {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool from_top = false;
  std::uint32_t bits = 0;
  std::size_t pixels = 0;   ///< where they begin
  std::size_t palette = 0;  ///< where it begins
  std::uint32_t colors = 0;
};

void require_bmp_masks(const BmpBytes& file, std::size_t header) {
  constexpr std::array<std::uint32_t, 3> kUsual{0x00FF0000, 0x0000FF00, 0x000000FF};
  constexpr std::size_t kMasks = kFileHeader + 40;  // behind the header, or within a longer one
  for (std::size_t c = 0; c < kUsual.size(); ++c) {
    if (file.u32(kMasks + 4 * c) != kUsual[c]) {
      throw bad_bmp("orders its channels in an unusual way (header of " +
                    std::to_string(header) + " bytes)");
    }
  }
}

BmpHead read_bmp_head(const BmpBytes& file) {
  const std::uint32_t header = file.u32(kFileHeader);
  constexpr std::uint32_t kLeastHeader = 40;
  constexpr std::uint32_t kMostHeader = 124;
  if (header < kLeastHeader || header > kMostHeader) {
    throw bad_bmp("has a header of " + std::to_string(header) + " bytes");
  }
  BmpHead head;
  head.pixels = file.u32(10);
  head.width = file.i32(kFileHeader + 4);
  const std::int64_t height = file.i32(kFileHeader + 8);
  head.from_top = height < 0;
  head.height = head.from_top ? -height : height;
  head.bits = file.u16(kFileHeader + 14);
  const std::uint32_t compression = file.u32(kFileHeader + 16);
  constexpr std::uint32_t kMasks = 3;
  if (compression == kMasks && head.bits == 32) {
    require_bmp_masks(file, header);
  } else if (compression != 0) {
    throw bad_bmp("is compressed (" + std::to_string(compression) + ")");
  }
  head.palette = kFileHeader + header;
  head.colors = file.u32(kFileHeader + 32);
  if (head.bits <= 8) {
    const std::uint32_t most = 1U << head.bits;
    head.colors = head.colors == 0 ? most : head.colors;
    if (head.colors > most) {
      throw bad_bmp("has " + std::to_string(head.colors) + " colors of " +
                    std::to_string(head.bits) + " bits");
    }
  }
  return head;
}

/// The place of a pixel's blue byte.
std::size_t color_at(const BmpBytes& file, const BmpHead& head, std::size_t row,
                     std::size_t x) {
  if (head.bits >= 24) {
    return row + x * (head.bits / 8);
  }
  const std::uint32_t byte = file.byte(row + x * head.bits / 8);
  const std::uint32_t shift = 8 - head.bits - static_cast<std::uint32_t>(x * head.bits % 8);
  const std::uint32_t index = (byte >> shift) & ((1U << head.bits) - 1);
  if (index >= head.colors) {
    throw bad_bmp("uses color " + std::to_string(index) + " of " + std::to_string(head.colors));
  }
  return head.palette + 4 * std::size_t{index};
}

}  // namespace

Picture decode_bmp(FileBytes bytes) {
  const BmpBytes file(bytes);
  const BmpHead head = read_bmp_head(file);
  if (head.bits != 1 && head.bits != 4 && head.bits != 8 && head.bits != 24 &&
      head.bits != 32) {
    throw bad_bmp("has " + std::to_string(head.bits) + " bits for each pixel");
  }
  Picture picture = blank_picture(head.height, head.width, 3);
  const std::size_t row_bytes =
      (static_cast<std::size_t>(head.width) * head.bits + 31) / 32 * 4;
  const auto rows = static_cast<std::size_t>(head.height);
  file.require(head.pixels, row_bytes * rows);
  if (head.bits <= 8) {
    file.require(head.palette, 4 * std::size_t{head.colors});
  }
  std::uint8_t* to = picture.bytes.data();
  for (std::size_t y = 0; y < rows; ++y) {
    const std::size_t row = head.pixels + row_bytes * (head.from_top ? y : rows - 1 - y);
    for (std::size_t x = 0; x < static_cast<std::size_t>(head.width); ++x, to += 3) {
      const std::uint8_t* blue = file.data() + color_at(file, head, row, x);
      to[0] = blue[2];
      to[1] = blue[1];
      to[2] = blue[0];
    }
  }
  return picture;
}

PictureSize bmp_size(FileBytes bytes) {
  const BmpHead head = read_bmp_head(BmpBytes(bytes));
  return {.height = head.height, .width = head.width};
}

}  // namespace tare
