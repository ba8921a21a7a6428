#include "io/samples/resize.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

constexpr int kBits = 22;  // 32 less those of a byte and two for the sum to overshoot

/// Of one result: which neighbours count, and how much.
struct Taps {
  std::size_t first = 0;
  std::size_t begin = 0;  ///< in Filter::weights
  std::size_t count = 0;
};

struct ResizeFilter {
  std::vector<Taps> taps;
  std::vector<std::int32_t> weights;
};

ResizeFilter triangles(std::int64_t from, std::int64_t to) {
  ResizeFilter filter;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  std::vector<double> shares;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first =
        std::max<std::int64_t>(static_cast<std::int64_t>(centre - stretch + 0.5), 0);
    const auto last =
        std::min<std::int64_t>(static_cast<std::int64_t>(centre + stretch + 0.5), from);
    shares.clear();
    double sum = 0;
    for (std::int64_t x = first; x < last; ++x) {
      const double distance =
          std::abs((static_cast<double>(x) - centre + 0.5) * (1.0 / stretch));
      shares.push_back(distance < 1 ? 1 - distance : 0);
      sum += shares.back();
    }
    filter.taps.push_back(
        {static_cast<std::size_t>(first), filter.weights.size(), shares.size()});
    for (const double share : shares) {
      const double weight = sum == 0 ? share : share / sum;
      filter.weights.push_back(static_cast<std::int32_t>(0.5 + weight * (1 << kBits)));
    }
  }
  return filter;
}

std::uint8_t rounded_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255));
}

Picture along_rows(const Picture& picture, std::int64_t width) {
  Picture result = blank_picture(picture.height, width, picture.channels);
  const ResizeFilter filter = triangles(picture.width, width);
  const auto channels = static_cast<std::size_t>(picture.channels);
  std::uint8_t* to = result.bytes.data();
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const std::uint8_t* row =
        picture.bytes.data() + static_cast<std::size_t>(y) * picture.row_bytes();
    for (const Taps& taps : filter.taps) {
      for (std::size_t c = 0; c < channels; ++c) {
        std::int32_t sum = 1 << (kBits - 1);
        for (std::size_t i = 0; i < taps.count; ++i) {
          sum += filter.weights[taps.begin + i] * row[(taps.first + i) * channels + c];
        }
        *to++ = rounded_byte(sum);
      }
    }
  }
  return result;
}

Picture along_columns(const Picture& picture, std::int64_t height) {
  Picture result = blank_picture(height, picture.width, picture.channels);
  const ResizeFilter filter = triangles(picture.height, height);
  const std::size_t row_bytes = picture.row_bytes();
  std::vector<std::int32_t> sums(row_bytes);
  std::uint8_t* to = result.bytes.data();
  for (const Taps& taps : filter.taps) {
    std::fill(sums.begin(), sums.end(), 1 << (kBits - 1));
    for (std::size_t i = 0; i < taps.count; ++i) {
      const std::int32_t weight = filter.weights[taps.begin + i];
      const std::uint8_t* row = picture.bytes.data() + (taps.first + i) * row_bytes;
      for (std::size_t x = 0; x < row_bytes; ++x) {
        sums[x] += weight * row[x];
      }
    }
    to = std::transform(sums.begin(), sums.end(), to, rounded_byte);
  }
  return result;
}

}  // namespace

Picture resized(const Picture& picture, PictureSize size) {
  const Picture narrow =
      size.width == picture.width ? picture : along_rows(picture, size.width);
  return size.height == narrow.height ? narrow : along_columns(narrow, size.height);
}

Picture cut_from_middle(const Picture& picture, PictureSize size) {
  check(size.height <= picture.height && size.width <= picture.width,
        "a picture is smaller than what is cut out of it");
  const auto half = [](std::int64_t rest) {
    return static_cast<std::size_t>(std::nearbyint(static_cast<double>(rest) / 2));
  };
  const std::size_t top = half(picture.height - size.height);
  const std::size_t left = half(picture.width - size.width);
  Picture result = blank_picture(size.height, size.width, picture.channels);
  for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y) {
    const std::uint8_t* from = picture.bytes.data() + (top + y) * picture.row_bytes() +
                               left * static_cast<std::size_t>(picture.channels);
    std::copy_n(from, result.row_bytes(), result.bytes.data() + y * result.row_bytes());
  }
  return result;
}

Picture padded(const Picture& picture, PictureSize size, std::int64_t top, std::int64_t left,
               std::uint8_t fill) {
  Picture result = blank_picture(size.height, size.width, picture.channels);
  std::fill(result.bytes.begin(), result.bytes.end(), fill);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    std::copy_n(picture.bytes.data() + static_cast<std::size_t>(y) * picture.row_bytes(),
                picture.row_bytes(),
                result.bytes.data() + static_cast<std::size_t>(top + y) * result.row_bytes() +
                    static_cast<std::size_t>(left * picture.channels));
  }
  return result;
}

}  // namespace tare
