#include "reconstruct/augmentation.h"

#include "base/split_mix.h"

#include <algorithm>

namespace tare {
namespace {

constexpr std::int64_t kLeastSide = 8;   ///< of images
constexpr std::int64_t kMostOfSide = 8;  ///< they move by up to this part of their sides

constexpr std::int64_t kColours = 3;

/// Images as planes of rows of pixels of so many numbers.
struct Pixels {
  std::int64_t planes;
  std::int64_t height;
  std::int64_t width;
  std::int64_t numbers;

  explicit Pixels(const Shape& shape)
      : planes(shape[1] == kColours ? shape[0] * kColours : shape[0]),
        height(shape[1] == kColours ? shape[2] : shape[1]),
        width(shape[1] == kColours ? shape[3] : shape[2]),
        numbers(shape[1] == kColours ? 1 : kColours) {}
};

ImageMove random_move(const Pixels& pixels, SplitMix64& noise) {
  const auto within = [&](std::int64_t side) {
    const std::int64_t most = side / kMostOfSide;
    return static_cast<std::int64_t>(noise.next() % static_cast<std::uint64_t>(2 * most + 1)) -
           most;
  };
  const bool mirrored = (noise.next() & 1U) != 0;
  const std::int64_t down = within(pixels.height);
  return {mirrored, down, within(pixels.width)};
}

}  // namespace

bool is_image(DType dtype, const Shape& shape) {
  if (dtype != DType::kFloat32 || shape.size() != 4 ||
      (shape[1] != kColours && shape[3] != kColours)) {
    return false;
  }
  const Pixels pixels(shape);
  return std::min(pixels.height, pixels.width) >= kLeastSide;
}

bool has_images(const RunValues& values) {
  return std::any_of(values.begin(), values.end(), [](const auto& entry) {
    return is_image(entry.second[0].dtype(), entry.second[0].shape());
  });
}

Tensor moved(const Tensor& images, const ImageMove& move) {
  const Pixels pixels(images.shape());
  Tensor result = images;
  auto* to = result.mutable_view<float>().data();
  const float* from = images.view<float>().data();
  for (std::int64_t plane = 0; plane < pixels.planes; ++plane) {
    for (std::int64_t y = 0; y < pixels.height; ++y) {
      const std::int64_t row = std::clamp<std::int64_t>(y - move.down, 0, pixels.height - 1);
      for (std::int64_t x = 0; x < pixels.width; ++x) {
        const std::int64_t shown =
            std::clamp<std::int64_t>(x - move.right, 0, pixels.width - 1);
        const std::int64_t column = move.mirrored ? pixels.width - 1 - shown : shown;
        const std::int64_t place = (plane * pixels.height + row) * pixels.width + column;
        to = std::copy_n(from + place * pixels.numbers, pixels.numbers, to);
      }
    }
  }
  return result;
}

void add_moved(RunValues& values, std::span<const std::size_t> parts, std::size_t count) {
  SplitMix64 noise(1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t part = parts[i % parts.size()];
    const std::uint64_t seed = noise.next();  // images of one size that belong together stay so
    for (auto& [value, runs] : values) {
      SplitMix64 own(seed);
      const Tensor original = runs[part];
      runs.push_back(is_image(original.dtype(), original.shape())
                         ? moved(original, random_move(Pixels(original.shape()), own))
                         : original);
    }
  }
}

}  // namespace tare
