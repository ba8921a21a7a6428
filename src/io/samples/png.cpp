// PNG by libpng. The library leaves its functions by longjmp, which runs no destructors: what
// has one is made before, and lives in the caller.
#include "tare/error.h"

#include "io/samples/picture.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <string>

#include <png.h>

namespace tare {
namespace {

struct PngSource {
  FileBytes bytes;
  std::size_t at = 0;
  std::string fault;
};

void read_png_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto& source = *static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source.bytes.size() - source.at) {
    png_error(png, "the file ends too early");
  }
  std::memcpy(to, source.bytes.data() + source.at, count);
  source.at += count;
}

[[noreturn]] void note_png_error(png_structp png, png_const_charp message) {
  static_cast<PngSource*>(png_get_error_ptr(png))->fault = message;
  png_longjmp(png, 1);
}

void ignore_png_warning(png_structp, png_const_charp) {}

/// What stands on both sides of a longjmp.
struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  int channels = 0;
  bool is_gray = false;

  explicit PngReader(PngSource& source) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, note_png_error,
                                 ignore_png_warning);
    info = png == nullptr ? nullptr : png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw Error(ErrorCode::kInvalidData, "", "libpng does not start");
    }
    png_set_read_fn(png, &source, read_png_bytes);
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
};

/// Reads what is before the pixels, and has these expanded to 8 bits of gray or RGB.
bool read_png_head(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {  // NOLINT: the library's only way
    return false;
  }
  constexpr png_uint_32 kLongestSide = 1U << 20U;
  constexpr png_alloc_size_t kMostOfChunk = 8U << 20U;
  png_set_user_limits(reader.png, kLongestSide, kLongestSide);
  png_set_chunk_malloc_max(reader.png, kMostOfChunk);
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
  png_read_info(reader.png, reader.info);
  reader.width = png_get_image_width(reader.png, reader.info);
  reader.height = png_get_image_height(reader.png, reader.info);
  const auto color = png_get_color_type(reader.png, reader.info);
  reader.is_gray = (color & PNG_COLOR_MASK_COLOR) == 0;
  png_set_expand(reader.png);  // palettes and few bits become bytes
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  reader.channels = png_get_channels(reader.png, reader.info);
  return true;
}

bool read_png_rows(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {  // NOLINT: the library's only way
    return false;
  }
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

Error bad_png(const PngSource& source) {
  return {ErrorCode::kInvalidData, "", "is a damaged PNG file: " + source.fault};
}

}  // namespace

Picture decode_png(FileBytes bytes) {
  PngSource source{.bytes = bytes, .at = 0, .fault = {}};
  PngReader reader(source);
  if (!read_png_head(reader)) {
    throw bad_png(source);
  }
  const std::int64_t channels = reader.is_gray ? 1 : 3;
  if (reader.channels != channels) {
    throw Error(ErrorCode::kInvalidData, "",
                "is a PNG file of " + std::to_string(reader.channels) + " channels");
  }
  Picture picture = blank_picture(reader.height, reader.width, channels);
  std::vector<png_bytep> rows(reader.height);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    rows[row] = picture.bytes.data() + row * picture.row_bytes();
  }
  if (!read_png_rows(reader, rows.data())) {
    throw bad_png(source);
  }
  return picture;
}

PictureSize png_size(FileBytes bytes) {
  PngSource source{.bytes = bytes, .at = 0, .fault = {}};
  PngReader reader(source);
  if (!read_png_head(reader)) {
    throw bad_png(source);
  }
  return {.height = reader.height, .width = reader.width};
}

std::vector<std::uint8_t> encode_png(const Picture& picture) {
  std::vector<std::uint8_t> file;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  file.resize(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, picture.bytes.data(), 0,
                                nullptr) == 0) {
    throw Error(ErrorCode::kInternal, "", std::string("libpng: ") + image.message);
  }
  file.resize(size);
  return file;
}

}  // namespace tare
