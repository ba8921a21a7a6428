// The Hessian of a layer's squared error, and its Cholesky factor, in tiles that threads share.
// Sums are exact (gram_matrix.h), so it does not matter who adds up what. The factor is that of
// the right-looking algorithm in blocks (Golub and Van Loan, "Matrix Computations", section
// 4.2): each tile is updated with one matrix product for each block before it, in an order that
// the size alone decides.
//
// Cost for n rows and B columns: n B^2 / 2 + B^3 / 6 multiplications, nearly all in matrix
// products. Memory: 8 B^2 bytes for both matrices, and the rows in the order of columns.
#include "calibrate/rounding/input_hessian.h"

#include "base/parallel.h"
#include "calibrate/rounding/gram_matrix.h"
#include "calibrate/statistics/share_parts.h"
#include "calibrate/statistics/shares.h"
#include "execute/products/gemm.h"
#include "execute/run/one_thread.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include <Eigen/Cholesky>

namespace tare {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXf;

/// Columns of a tile: a product of two is large enough for the speed of matrix products, and
/// its sums in double stay in the cache.
constexpr Index kTile = 128;

/// The tiles on and below the diagonal of a square matrix, row by row.
std::vector<std::pair<Index, Index>> lower_tiles(Index first, Index size) {
  std::vector<std::pair<Index, Index>> result;
  for (Index row = first; row < size; row += kTile) {
    for (Index column = first; column <= row; column += kTile) {
      result.emplace_back(row, column);
    }
  }
  return result;
}

template <class Body>
void for_each_tile(std::span<const std::pair<Index, Index>> tiles, Index size, int threads,
                   const Body& body) {
  parallel_for(tiles.size(), threads, [&](std::size_t, std::size_t i) {
    const OneThread one_thread;
    const auto [row, column] = tiles[i];
    body(row, column, std::min(kTile, size - row), std::min(kTile, size - column));
  });
}

/// Indices of the rows that are not held out.
std::vector<std::size_t> fitting_rows(const RoundingTask& task) {
  std::vector<std::size_t> result;
  for (std::size_t row = 0; row < task.holdout.size(); ++row) {
    if (!task.holdout[row]) {
      result.push_back(row);
    }
  }
  return result;
}

/// What some rows have in each column: exact sums, of squares as well, and the least number.
struct Moments {
  Eigen::VectorXd sums;
  Eigen::VectorXd squares;
  Eigen::VectorXf lowest;
};

Moments moments_of(const RoundingTask& task, std::span<const std::size_t> rows,
                   std::size_t first, std::size_t width, int threads) {
  const auto size = static_cast<Index>(width);
  Moments result{Eigen::VectorXd::Zero(size), Eigen::VectorXd::Zero(size),
                 Eigen::VectorXf::Constant(size, std::numeric_limits<float>::infinity())};
  // The squares of so many rows add up to less than 2^24, so float holds their sums exactly.
  constexpr std::size_t kExact = 256;
  std::mutex mutex;
  parallel_for((rows.size() + kExact - 1) / kExact, threads, [&](std::size_t, std::size_t i) {
    Eigen::VectorXf sums = Eigen::VectorXf::Zero(size);
    Eigen::VectorXf squares = sums;
    Eigen::VectorXf lowest =
        Eigen::VectorXf::Constant(size, std::numeric_limits<float>::infinity());
    for (const std::size_t row :
         rows.subspan(i * kExact).first(std::min(kExact, rows.size() - i * kExact))) {
      const Eigen::Map<const Eigen::VectorXf> values(
          task.rows.data() + row * task.columns + first, size);
      sums += values;
      squares += values.cwiseAbs2();
      lowest = lowest.cwiseMin(values);
    }
    const std::lock_guard lock(mutex);  // in any order, as sums in double are exact as well
    result.sums += sums.cast<double>();
    result.squares += squares.cast<double>();
    result.lowest = result.lowest.cwiseMin(lowest);
  });
  return result;
}

/// Gives all processes the tiles of a symmetric matrix that each of them has its share of.
void share_tiles(std::span<const std::pair<Index, Index>> tiles, Communicator& team,
                 LargeMatrix<float>& matrix) {
  const auto tile = [&](std::size_t i) {
    const auto [row, column] = tiles[i];
    return matrix.block(row, column, std::min(kTile, matrix.rows() - row),
                        std::min(kTile, matrix.cols() - column));
  };
  const auto tiles_of = [&](int rank) { return share_of(tiles.size(), &team, rank); };
  const auto bytes_of = [&](std::size_t i) {
    return static_cast<std::size_t>(tile(i).size()) * sizeof(float);
  };
  share_parts(
      team, Message::kHessians,
      [&](int rank) {
        std::size_t bytes = 0;
        for (std::size_t i = tiles_of(rank).first; i < tiles_of(rank).end; ++i) {
          bytes += bytes_of(i);
        }
        return bytes;
      },
      [&](std::span<std::byte> part) {
        for (std::size_t i = tiles_of(team.rank()).first; i < tiles_of(team.rank()).end; ++i) {
          const Matrix sums = tile(i);
          std::memcpy(part.data(), sums.data(), bytes_of(i));
          part = part.subspan(bytes_of(i));
        }
      },
      [&](int rank, std::span<const std::byte> part) {
        for (std::size_t i = tiles_of(rank).first; i < tiles_of(rank).end; ++i) {
          auto to = tile(i);
          Matrix sums(to.rows(), to.cols());
          std::memcpy(sums.data(), part.data(), bytes_of(i));
          part = part.subspan(bytes_of(i));
          to = sums;
          // Those on the diagonal are not symmetric to the last bit, and were transposed
          // already.
          if (tiles[i].first != tiles[i].second) {
            matrix.block(tiles[i].second, tiles[i].first, to.cols(), to.rows()) =
                sums.transpose();
          }
        }
      });
}

/// X'X / n, less the product of the means.
LargeMatrix<float> hessian_of(const GramMatrix& products, const Eigen::VectorXd& means,
                              int threads, Communicator* team) {
  const Index columns = means.size();
  const auto count = static_cast<double>(products.rows());
  LargeMatrix<float> result(columns, columns);
  const auto tiles = lower_tiles(0, columns);
  const auto sum_tile = [&](Index row, Index column, Index height, Index width) {
    Eigen::MatrixXd sums = products.block(row, column, height, width);
    sums -= count * means.segment(row, height) * means.segment(column, width).transpose();
    const Matrix part = (sums / count).cast<float>();
    result.block(row, column, height, width) = part;
    result.block(column, row, width, height) = part.transpose();
  };
  const Share own = own_share(tiles.size(), team);
  for_each_tile(std::span(tiles).subspan(own.first, own.count()), columns, threads, sum_tile);
  if (team != nullptr) {
    share_tiles(tiles, *team, result);
  }
  return result;
}

/// Replaces the lower triangle of a positive definite matrix by its Cholesky factor.
void factorize(LargeMatrix<float>& matrix, int threads) {
  const Index size = matrix.cols();
  for (Index k = 0; k < size; k += kTile) {
    const Index width = std::min(kTile, size - k);
    const Index behind = k + width;
    auto diagonal = matrix.block(k, k, width, width);
    diagonal = Matrix(Eigen::LLT<Matrix>(diagonal).matrixL());
    parallel_for(
        static_cast<std::size_t>((size - behind + kTile - 1) / kTile), threads,
        [&](std::size_t, std::size_t i) {
          const OneThread one_thread;
          const Index row = behind + static_cast<Index>(i) * kTile;
          auto tile = matrix.block(row, k, std::min(kTile, size - row), width);
          diagonal.transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(
              tile);
        });
    for_each_tile(lower_tiles(behind, size), size, threads,
                  [&](Index row, Index column, Index height, Index across) {
                    add_product(-1, matrix.block(row, k, height, width),
                                matrix.block(column, k, across, width).transpose(),
                                matrix.block(row, column, height, across));
                  });
  }
}

}  // namespace

InputHessian::InputHessian(const RoundingTask& task, std::size_t first, std::size_t width,
                           int threads) {
  const std::vector<std::size_t> rows = fitting_rows(task);
  const Moments moments = moments_of(task, rows, first, width, threads);
  const auto count = static_cast<double>(rows.size());
  const Eigen::VectorXd own_means = task.centred
                                        ? Eigen::VectorXd(moments.sums / count)
                                        : Eigen::VectorXd::Zero(static_cast<Index>(width));
  Eigen::VectorXf diagonal = (moments.squares / count - own_means.cwiseAbs2()).cast<float>();
  if (!task.units.empty()) {
    diagonal.array() *=
        Eigen::Map<const Eigen::ArrayXf>(task.units.data() + first, static_cast<Index>(width))
            .square();
  }
  // The more a column counts, the earlier it is rounded: the last one first.
  std::vector<std::size_t> places(width);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return diagonal[static_cast<Index>(a)] < diagonal[static_cast<Index>(b)];
  });
  Eigen::VectorXd means(static_cast<Index>(width));
  Eigen::VectorXd sums(static_cast<Index>(width));
  for (std::size_t k = 0; k < width; ++k) {
    order_.push_back(first + places[k]);
    means[static_cast<Index>(k)] = own_means[static_cast<Index>(places[k])];
    sums[static_cast<Index>(k)] = moments.sums[static_cast<Index>(places[k])];
  }
  const GramMatrix products(task, {rows, order_, sums, moments.lowest.minCoeff()}, threads);
  hessian_ = hessian_of(products, means, threads, task.team);
  if (!task.units.empty()) {
    Eigen::VectorXf units(means.size());
    for (std::size_t k = 0; k < width; ++k) {
      units[static_cast<Index>(k)] = task.units[order_[k]];
    }
    hessian_.array().colwise() *= units.array();
    hessian_.array().rowwise() *= units.transpose().array();
  }
  // 1 % of the mean diagonal, as in the paper: where rows do not span all columns, H has no
  // factor otherwise. The floor is for rows that are zero throughout.
  hessian_.diagonal().array() += std::max(0.01F * hessian_.diagonal().mean(), 1e-6F);
  factor_ = LargeMatrix<float>(hessian_.rows(), hessian_.cols());
  parallel_for(static_cast<std::size_t>(hessian_.cols()), threads,
               [&](std::size_t, std::size_t i) {
                 factor_.col(static_cast<Index>(i)) = hessian_.col(static_cast<Index>(i));
               });
  factorize(factor_, threads);
}

}  // namespace tare
