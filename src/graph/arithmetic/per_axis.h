#pragma once

#include "tare/tensor.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tare {

/// Calls f(channel, first, count) for every contiguous run of elements that share one channel
/// of `axis`; once with channel 0 and everything when there is no axis. Runs come in memory
/// order.
template <class F>
void for_each_slice(const Shape& shape, std::optional<int> axis, F&& f) {
  const auto total = static_cast<std::size_t>(element_count(shape));
  if (!axis) {
    f(std::size_t{0}, std::size_t{0}, total);
    return;
  }
  const auto channels = static_cast<std::size_t>(shape.at(static_cast<std::size_t>(*axis)));
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(*axis) + 1; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  if (total == 0) {
    return;
  }
  for (std::size_t first = 0, channel = 0; first < total; first += inner) {
    f(channel, first, inner);
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
}

/// Copies the elements of each channel of `axis` behind those of the channel before it, in
/// memory order; all as they are when there is no axis.
inline void copy_channel_by_channel(std::span<const float> values, const Shape& shape,
                                    std::optional<int> axis, std::span<float> result) {
  const bool is_last = axis && *axis + 1 == static_cast<int>(shape.size());
  if (!is_last || values.empty()) {
    const std::size_t channels =
        axis ? static_cast<std::size_t>(shape.at(static_cast<std::size_t>(*axis))) : 1;
    const std::size_t size = values.size() / std::max<std::size_t>(channels, 1);
    std::vector<std::size_t> filled(channels, 0);
    for_each_slice(shape, axis, [&](std::size_t channel, std::size_t first, std::size_t count) {
      const auto slice = values.subspan(first, count);
      const auto to = channel * size + filled[channel];
      std::copy(slice.begin(), slice.end(), result.begin() + static_cast<std::ptrdiff_t>(to));
      filled[channel] += count;
    });
    return;
  }
  // A matrix is transposed tile by tile: its columns are further apart than what a processor
  // has addresses of at hand.
  constexpr std::size_t kTile = 32;
  const auto columns = static_cast<std::size_t>(shape.back());
  const std::size_t rows = values.size() / columns;
  for (std::size_t row = 0; row < rows; row += kTile) {
    for (std::size_t column = 0; column < columns; column += kTile) {
      for (std::size_t c = column; c < std::min(columns, column + kTile); ++c) {
        for (std::size_t r = row; r < std::min(rows, row + kTile); ++r) {
          result[c * rows + r] = values[r * columns + c];
        }
      }
    }
  }
}

/// The shape in which scales and zero points of values of that shape lie: one number, a row
/// along `axis`, or with a block not 0 the values' shape with the blocks of `axis` in its
/// place.
inline Shape parameter_shape(const Shape& shape, std::optional<int> axis, int block) {
  if (!axis) {
    return {};
  }
  const auto at = static_cast<std::size_t>(*axis);
  if (block == 0) {
    return {shape.at(at)};
  }
  Shape result = shape;
  result.at(at) = result[at] / block + (result[at] % block == 0 ? 0 : 1);
  return result;
}

/// Where in parameter_shape() the parameters of each element are.
class PlaceOfParameters {
 public:
  PlaceOfParameters(const Shape& shape, std::optional<int> axis, int block)
      : is_alone_(!axis), block_(static_cast<std::size_t>(block)) {
    if (axis) {
      const auto at = static_cast<std::size_t>(*axis);
      extent_ = static_cast<std::size_t>(shape.at(at));
      for (std::size_t i = at + 1; i < shape.size(); ++i) {
        inner_ *= static_cast<std::size_t>(shape[i]);
      }
    }
  }

  /// Of the element with that index in row-major order.
  std::size_t operator()(std::size_t element) const {
    if (is_alone_) {
      return 0;
    }
    const std::size_t row = element / inner_;
    const std::size_t along = row % extent_;
    if (block_ == 0) {
      return along;
    }
    const std::size_t blocks = (extent_ + block_ - 1) / block_;
    return (row / extent_ * blocks + along / block_) * inner_ + element % inner_;
  }

 private:
  bool is_alone_;
  std::size_t block_;
  std::size_t extent_ = 1;
  std::size_t inner_ = 1;
};

/// The same in blocks along the axis, where `block` is not 0: runs share the parameters whose
/// place in parameter_shape() is f's first argument.
template <class F>
void for_each_slice(const Shape& shape, std::optional<int> axis, int block, F&& f) {
  if (!axis || block == 0) {
    for_each_slice(shape, axis, f);
    return;
  }
  if (element_count(shape) == 0) {
    return;
  }
  const auto at = static_cast<std::size_t>(*axis);
  std::size_t outer = 1;
  std::size_t inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < at ? outer : inner) *= i == at ? 1 : static_cast<std::size_t>(shape[i]);
  }
  const auto extent = static_cast<std::size_t>(shape[at]);
  const auto size = static_cast<std::size_t>(block);
  const std::size_t blocks = (extent + size - 1) / size;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t place = 0, run = 1; place < extent; place += run) {
      run = inner == 1 ? std::min(size, extent - place) : 1;
      const std::size_t parameters = (o * blocks + place / size) * inner;
      const std::size_t first = (o * extent + place) * inner;
      for (std::size_t i = 0; i < inner; ++i) {
        f(parameters + i, first + i, run);
      }
    }
  }
}

}  // namespace tare
