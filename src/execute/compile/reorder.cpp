// Between channels first and channels last, as a transpose of [channels, positions] in squares
// of vectors, or of three channels at once. One read and one write of each element.
#include "execute/compile/reorder.h"

#include "base/check.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace tare {
namespace {

/// How many rows are transposed together, so that whole cache lines are written.
constexpr std::size_t kTile = 32;

/// A square of elements, whose rows fill a vector each.
template <class T>
struct Square {
  static constexpr std::size_t kSide = 16 / sizeof(T);
  using Vector [[gnu::vector_size(16)]] = T;

  /// The first or the second half of a0 b0 a1 b1 ...
  template <bool kSecond, std::size_t... kI>
  static Vector half(Vector a, Vector b, std::index_sequence<kI...>) {
    return __builtin_shufflevector(a, b,
                                   (kI % 2 * kSide + kI / 2 + (kSecond ? kSide / 2 : 0))...);
  }

  /// Each round interleaves row i with row i + kSide / 2. That takes the highest bit of the row
  /// number and makes it the lowest of the column number, so after one round for each bit rows
  /// and columns are exchanged.
  static void transpose(const T* in, std::size_t in_stride, T* out, std::size_t out_stride) {
    constexpr std::make_index_sequence<kSide> kAll;
    Vector rows[kSide];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kSide; ++i) {
      std::memcpy(&rows[i], in + i * in_stride, sizeof(Vector));
    }
#pragma GCC unroll 16
    for (std::size_t bit = 1; bit < kSide; bit *= 2) {
      Vector next[kSide];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kSide / 2; ++i) {
        next[2 * i] = half<false>(rows[i], rows[i + kSide / 2], kAll);
        next[2 * i + 1] = half<true>(rows[i], rows[i + kSide / 2], kAll);
      }
      std::copy(std::begin(next), std::end(next), std::begin(rows));
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kSide; ++i) {
      std::memcpy(out + i * out_stride, &rows[i], sizeof(Vector));
    }
  }
};

/// For the three channels of an image, which are too few for squares. The compiler makes vector
/// code of it, since it knows the number.
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
  constexpr std::size_t kSide = Square<T>::kSide;
  const std::size_t whole_rows = rows / kSide * kSide;
  const std::size_t whole_columns = columns / kSide * kSide;
  const auto one_by_one = [&](std::size_t first_row, std::size_t end_row, std::size_t column) {
    for (std::size_t c = column; c < columns; ++c) {
      for (std::size_t r = first_row; r < end_row; ++r) {
        out[c * rows + r] = in[r * columns + c];
      }
    }
  };
  for (std::size_t r0 = 0; r0 < whole_rows; r0 += kTile) {
    const std::size_t r1 = std::min(whole_rows, r0 + kTile);
    for (std::size_t c = 0; c < whole_columns; c += kSide) {
      for (std::size_t r = r0; r < r1; r += kSide) {
        Square<T>::transpose(in + r * columns + c, columns, out + c * rows + r, rows);
      }
    }
    one_by_one(r0, r1, whole_columns);
  }
  one_by_one(whole_rows, rows, 0);
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
