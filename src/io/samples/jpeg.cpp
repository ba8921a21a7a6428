// JPEG by libjpeg-turbo, whose results are Pillow's: accurate inverse transform, smooth
// upsampling. The library leaves its functions by longjmp, which runs no destructors: what has
// one is made before, and lives in the caller.
#include "tare/error.h"

#include "io/samples/picture.h"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>

#include <jerror.h>
#include <jpeglib.h>

namespace tare {
namespace {

/// A progressive file may have its coefficients refined as often as it likes.
constexpr int kMostScans = 100;
/// Of one picture; larger ones go to a temporary file of the library.
constexpr long kJpegMemory = 256L << 20U;

struct JpegErrors {
  jpeg_error_mgr manager{};
  std::jmp_buf leave{};
  std::array<char, JMSG_LENGTH_MAX> fault{};
};

JpegErrors& errors_of(j_common_ptr jpeg) {
  return *reinterpret_cast<JpegErrors*>(jpeg->err);
}

[[noreturn]] void leave_jpeg(j_common_ptr jpeg) {
  JpegErrors& errors = errors_of(jpeg);
  jpeg->err->format_message(jpeg, errors.fault.data());
  std::longjmp(errors.leave, 1);
}

/// What only is odd is read on; a file that ends too early, or is damaged within, would be gray
/// from there on.
void note_jpeg_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) {
    leave_jpeg(jpeg);
  }
}

void ignore_jpeg_output(j_common_ptr) {}

void watch_jpeg(j_common_ptr common) {
  const auto& jpeg = *reinterpret_cast<j_decompress_ptr>(common);
  if (jpeg.input_scan_number > kMostScans) {
    JpegErrors& errors = errors_of(common);
    std::snprintf(errors.fault.data(), errors.fault.size(), "more than %d scans", kMostScans);
    std::longjmp(errors.leave, 1);
  }
}

struct JpegReader {
  JpegErrors errors;
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct jpeg{};

  JpegReader() {
    jpeg.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leave_jpeg;
    errors.manager.emit_message = note_jpeg_message;
    errors.manager.output_message = ignore_jpeg_output;
    progress.progress_monitor = watch_jpeg;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
};

bool read_jpeg_head(JpegReader& reader, FileBytes bytes) {
  jpeg_decompress_struct& jpeg = reader.jpeg;
  if (setjmp(reader.errors.leave) != 0) {  // NOLINT: the library's only way
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &reader.progress;
  jpeg.mem->max_memory_to_use = kJpegMemory;
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  const bool is_ink = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE
                         : is_ink                               ? JCS_CMYK
                                                                : JCS_RGB;
  return true;
}

/// The rows as the library gives them: 1, 3 or 4 bytes for each pixel.
bool read_jpeg_rows(JpegReader& reader, std::uint8_t* to, std::size_t row_bytes) {
  jpeg_decompress_struct& jpeg = reader.jpeg;
  if (setjmp(reader.errors.leave) != 0) {  // NOLINT: the library's only way
    return false;
  }
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = to + jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

/// Inks become light. Adobe's programs store them inverted, as everybody does since.
Picture without_inks(const Picture& inks) {
  Picture result = blank_picture(inks.height, inks.width, 3);
  for (std::size_t i = 0; i < result.bytes.size() / 3; ++i) {
    const std::uint8_t* ink = inks.bytes.data() + 4 * i;
    for (std::size_t c = 0; c < 3; ++c) {
      // a * b / 255, rounded
      const unsigned product = ink[c] * unsigned{ink[3]} + 128;
      result.bytes[3 * i + c] = static_cast<std::uint8_t>((product + (product >> 8U)) >> 8U);
    }
  }
  return result;
}

Error bad_jpeg(const JpegReader& reader) {
  return {ErrorCode::kInvalidData, "",
          std::string("is a damaged JPEG file: ") + reader.errors.fault.data()};
}

}  // namespace

Picture decode_jpeg(FileBytes bytes) {
  JpegReader reader;
  if (!read_jpeg_head(reader, bytes)) {
    throw bad_jpeg(reader);
  }
  const J_COLOR_SPACE color = reader.jpeg.out_color_space;
  const std::int64_t channels = color == JCS_GRAYSCALE ? 1 : color == JCS_CMYK ? 4 : 3;
  Picture picture = blank_picture(reader.jpeg.image_height, reader.jpeg.image_width, channels);
  if (!read_jpeg_rows(reader, picture.bytes.data(), picture.row_bytes())) {
    throw bad_jpeg(reader);
  }
  return channels == 4 ? without_inks(picture) : picture;
}

PictureSize jpeg_size(FileBytes bytes) {
  JpegReader reader;
  if (!read_jpeg_head(reader, bytes)) {
    throw bad_jpeg(reader);
  }
  return {.height = reader.jpeg.image_height, .width = reader.jpeg.image_width};
}

}  // namespace tare
