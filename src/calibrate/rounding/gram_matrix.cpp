// Products of bytes, where the processor has instructions for them (VNNI): sums in int32 are
// exact, and four times as fast as float32. oneDNN multiplies unsigned bytes with signed ones,
// so with u = x + s and v = u - 128 what the shifts add is subtracted afterwards:
//   sum x_i x_j = sum u_i v_j - (s - 128) sum x_i - s sum x_j - n s (s - 128).
// Elsewhere 256 products at a time, whose sum is below 2^24 and so exact in float32.
#include "calibrate/rounding/gram_matrix.h"

#include "base/parallel.h"
#include "execute/products/gemm.h"

#include <algorithm>

namespace tare {
namespace {

using Eigen::Index;

/// Calls body(i, row) for each i and row i of the task's.
template <class Body>
void for_each_row(const RoundingTask& task, std::span<const std::size_t> rows, int threads,
                  const Body& body) {
  constexpr std::size_t kChunk = 64;
  parallel_for(
      (rows.size() + kChunk - 1) / kChunk, threads, [&](std::size_t, std::size_t chunk) {
        const std::size_t end = std::min(rows.size(), (chunk + 1) * kChunk);
        for (std::size_t i = chunk * kChunk; i < end; ++i) {
          body(static_cast<Index>(i), task.rows.subspan(rows[i] * task.columns, task.columns));
        }
      });
}

// Bytes may be anything's, so the compiler has to know that they overlap with nothing.

void to_bytes(std::span<const float> row, float shift, std::uint8_t* __restrict bytes) {
  const float* const from = row.data();
  for (std::size_t k = 0; k < row.size(); ++k) {
    bytes[k] = static_cast<std::uint8_t>(static_cast<std::int32_t>(from[k] + shift));
  }
}

/// bytes = from[places], and the same less 128.
void pick(const std::uint8_t* __restrict from, std::span<const std::uint32_t> places,
          std::uint8_t* __restrict bytes, std::int8_t* __restrict less) {
  const std::uint32_t* const place = places.data();
  for (std::size_t k = 0; k < places.size(); ++k) {
    bytes[k] = from[place[k]];
  }
  for (std::size_t k = 0; k < places.size(); ++k) {
    less[k] = static_cast<std::int8_t>(bytes[k] ^ 0x80U);
  }
}

}  // namespace

GramMatrix::GramMatrix(const RoundingTask& task, const PartOfRows& part, int threads) {
  const auto& [rows, columns, sums, lowest] = part;
  const auto count = static_cast<Index>(rows.size());
  const auto width = static_cast<Index>(columns.size());
  // For fewer it would not pay that oneDNN writes the code.
  constexpr Index kLeastColumns = 128;
  if (!has_exact_byte_products() || width < kLeastColumns) {
    floats_ = Rows<float>(count, width);
    for_each_row(task, rows, threads, [&](Index i, std::span<const float> row) {
      for (Index k = 0; k < width; ++k) {
        floats_(i, k) = row[columns[static_cast<std::size_t>(k)]];
      }
    });
    return;
  }
  const float shift = -lowest;
  shift_ = static_cast<double>(shift);
  sums_ = sums;
  bytes_ = Rows<std::uint8_t>(count, width);
  signed_ = Rows<std::int8_t>(count, width);
  const auto [least, most] = std::minmax_element(columns.begin(), columns.end());
  const std::size_t first = *least;
  const std::size_t extent = *most - first + 1;
  std::vector<std::uint32_t> places;
  for (const std::size_t column : columns) {
    places.push_back(static_cast<std::uint32_t>(column - first));
  }
  for_each_row(task, rows, threads, [&](Index i, std::span<const float> row) {
    thread_local std::vector<std::uint8_t> in_order;
    in_order.resize(std::max(in_order.size(), extent));
    to_bytes(row.subspan(first, extent), shift, in_order.data());
    pick(in_order.data(), places, &bytes_(i, 0), &signed_(i, 0));
  });
}

Eigen::MatrixXd GramMatrix::block(Index row, Index column, Index height, Index width) const {
  return bytes_.rows() > 0 ? of_bytes(row, column, height, width)
                           : of_floats(row, column, height, width);
}

Eigen::MatrixXd GramMatrix::of_floats(Index row, Index column, Index height,
                                      Index width) const {
  constexpr Index kExact = 256;
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(height, width);
  Eigen::MatrixXf part(height, width);
  for (Index first = 0; first < floats_.rows(); first += kExact) {
    const auto some = floats_.middleRows(first, std::min(kExact, floats_.rows() - first));
    set_product(some.middleCols(row, height).transpose(), some.middleCols(column, width), part);
    result += part.cast<double>();
  }
  return result;
}

Eigen::MatrixXd GramMatrix::of_bytes(Index row, Index column, Index height, Index width) const {
  const double other_shift = shift_ - 128;
  Eigen::MatrixXd result = Eigen::MatrixXd::Constant(
      height, width, -static_cast<double>(bytes_.rows()) * shift_ * other_shift);
  result.colwise() -= other_shift * sums_.segment(row, height);
  result.rowwise() -= shift_ * sums_.segment(column, width).transpose();
  Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> part(height,
                                                                                    width);
  for (Index first = 0; first < bytes_.rows(); first += kMostByteProducts) {
    const Index count = std::min<Index>(kMostByteProducts, bytes_.rows() - first);
    gemm({&bytes_(first, row), bytes_.outerStride(), true},
         {&signed_(first, column), signed_.outerStride(), false}, part.data(),
         part.outerStride(), {height, count, width});
    result += part.cast<double>();
  }
  return result;
}

}  // namespace tare
