// Between channels first and channels last, as a transpose of [channels, positions] in square
// tiles, or of three channels at once. One read and one write of each element.
#include "execute/compile/reorder.h"

#include "base/check.h"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

/// Side of the square of elements that is turned at once; its two sides stay in the first
/// cache.
constexpr std::size_t kTile = 32;

/// The channels of an image, where a tile has no side to speak of: vector code for so many.
template <std::size_t kRows, class T>
void interleave(const T* in, T* out, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t r = 0; r < kRows; ++r) {
      out[c * kRows + r] = in[r * columns + c];
    }
  }
}

template <class T>
void transpose(const T* in, T* out, std::size_t rows, std::size_t columns) {
  if (rows == 3) {
    return interleave<3>(in, out, columns);
  }
  for (std::size_t r0 = 0; r0 < rows; r0 += kTile) {
    const std::size_t r1 = std::min(rows, r0 + kTile);
    for (std::size_t c0 = 0; c0 < columns; c0 += kTile) {
      const std::size_t c1 = std::min(columns, c0 + kTile);
      for (std::size_t c = c0; c < c1; ++c) {
        for (std::size_t r = r0; r < r1; ++r) {
          out[c * rows + r] = in[r * columns + c];
        }
      }
    }
  }
}

template <class T>
void transpose_batch(const std::byte* in, std::byte* out, std::size_t batch, std::size_t rows,
                     std::size_t columns) {
  const std::size_t stride = rows * columns * sizeof(T);
  for (std::size_t n = 0; n < batch; ++n) {
    transpose(reinterpret_cast<const T*>(in + n * stride),
              reinterpret_cast<T*>(out + n * stride), rows, columns);
  }
}

void reorder(const TensorType& type, Layout to, const std::byte* in, std::byte* out) {
  if (element_count(type.shape) == 0) {
    return;  // extents beside the 0 may be too large to be walked through
  }
  const auto batch = static_cast<std::size_t>(type.shape[0]);
  const auto channels = static_cast<std::size_t>(type.shape[1]);
  std::size_t positions = 1;
  for (std::size_t i = 2; i < type.shape.size(); ++i) {
    positions *= static_cast<std::size_t>(type.shape[i]);
  }
  const std::size_t rows = to == Layout::kChannelsLast ? channels : positions;
  const std::size_t columns = to == Layout::kChannelsLast ? positions : channels;
  switch (size_of(type.dtype)) {
    case 1:
      return transpose_batch<std::uint8_t>(in, out, batch, rows, columns);
    case 2:
      return transpose_batch<std::uint16_t>(in, out, batch, rows, columns);
    case 4:
      return transpose_batch<std::uint32_t>(in, out, batch, rows, columns);
    default:
      return transpose_batch<std::uint64_t>(in, out, batch, rows, columns);
  }
}

}  // namespace

bool layouts_coincide(const Shape& shape) {
  if (shape.size() < 3 || shape[1] == 1) {
    return true;
  }
  return std::all_of(shape.begin() + 2, shape.end(), [](std::int64_t n) { return n == 1; });
}

std::unique_ptr<Kernel> make_reorder(const TensorType& type, Layout to) {
  check(type.shape.size() >= 3, "reorder of a value without a channels-last layout");
  return make_kernel([type, to](const Buffers& buffers) {
    reorder(type, to, buffers.inputs[0], buffers.outputs[0]);
  });
}

void copy_to_plain(const TensorType& type, const std::byte* channels_last, std::byte* plain) {
  reorder(type, Layout::kPlain, channels_last, plain);
}

void copy_to_channels_last(const TensorType& type, const std::byte* plain,
                           std::byte* channels_last) {
  reorder(type, Layout::kChannelsLast, plain, channels_last);
}

}  // namespace tare
