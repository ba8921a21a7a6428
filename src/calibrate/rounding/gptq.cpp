// GPTQ rounds the weights of a layer so that its results change little, which is not the same
// as rounding each weight to the nearest integer (Frantar, Ashkboos, Hoefler and Alistarh,
// "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022).
// With e the errors of the weights of one output, its squared error over the rows X of the
// layer's input is e' H e, with the Hessian H = X'X / n. Weights are rounded one after the
// other, those with the largest diagonal of H first, and the ones that are left make up for the
// error so far. Written with a Cholesky factor of H that is the nearest plane algorithm (Babai,
// "On Lovasz' lattice reduction and the nearest lattice point problem", 1986).
//
// What is added to the paper: coordinate descent then moves single integers while that lowers
// e' H e; no integer ends up more than 1 away from the nearest one, so that few rows cannot
// lead far; and an output whose error on held-out rows is no smaller gets its nearest integers
// back.
//
// Some outputs are rounded together, and the columns in panels: what a panel does to the others
// is one matrix product ("lazy batches" in the paper), so that it runs at the speed of these
// and not of the memory. Within a panel all outputs take a step of a column at once.
//
// Cost for n rows, C columns in blocks of B <= 1024 and O outputs: about C B (n + B / 6 + 3 O /
// 2) multiplications, C B O for each sweep of the descent in which most integers move, and C O
// n / 2 for the holdout. Memory: 8 C B bytes for H and its factor of all blocks, a copy of the
// rows, three of 4 million weights, and 1 MiB for each thread.
#include "calibrate/rounding/gptq.h"

#include "base/parallel.h"
#include "calibrate/rounding/input_hessian.h"
#include "calibrate/rounding/large_matrix.h"
#include "execute/products/gemm.h"
#include "execute/run/one_thread.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace tare {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXf;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using LargeRowMajor = LargeMatrix<float, Eigen::RowMajor>;
/// One for each of some outputs that are rounded together.
constexpr int kMostOutputs = 64;
using Numbers = Eigen::Array<float, 1, Eigen::Dynamic, Eigen::RowMajor, 1, kMostOutputs>;

/// Columns whose interplay is looked at together; of more, blocks. Larger ones would catch more
/// of it, for a factor whose time grows with the cube.
constexpr std::size_t kBlock = 1024;
/// Columns whose effect on those of other panels is one matrix product.
constexpr Index kPanel = 64;

/// Outputs that are rounded together: enough for the speed of matrix products, few enough that
/// threads have equal shares of a small layer.
std::size_t group_size(std::size_t outputs) {
  constexpr std::size_t kSmall = 256;
  return outputs < kSmall ? kMostOutputs / 2 : kMostOutputs;
}

/// The weights of a layer in steps, and what becomes of them: [columns, outputs], so that
/// neighbours in memory are of different outputs, which do not depend on each other.
struct Weights {
  LargeRowMajor exact;
  LargeRowMajor integers;
  LargeRowMajor steps;  ///< as WeightMatrix reads them; no rows where all are 1
};

struct Bounds {
  Numbers low;
  Numbers high;
};

/// Rounds the columns of a block for the outputs [first, first + count).
class Gptq {
 public:
  Gptq(const RoundingTask& task, const InputHessian& block, Weights& weights, Index first,
       Index count)
      : task_(task), block_(block), weights_(weights), first_(first), count_(count) {}

  void run() {
    const RowMajor errors = nearest_plane();
    descend(errors);
  }

 private:
  std::size_t column(Index k) const { return block_.order()[static_cast<std::size_t>(k)]; }

  auto part(LargeRowMajor& matrix, std::size_t column) const {
    return matrix.row(static_cast<Index>(column)).segment(first_, count_).array();
  }
  Numbers steps(std::size_t column) const {
    return weights_.steps.rows() == 0 ? Numbers(Numbers::Ones(count_))
                                      : Numbers(part(weights_.steps, column));
  }

  Bounds bounds(std::size_t column) const {
    const Numbers nearest = part(weights_.exact, column).rint().max(task_.low).min(task_.high);
    Bounds result{(nearest - 1).max(task_.low), (nearest + 1).min(task_.high)};
    if (!task_.partner.empty() && task_.partner[column] != column) {
      const auto other = part(weights_.integers, task_.partner[column]);
      result.low = result.low.max(-task_.pair_limit - other);
      result.high = result.high.min(task_.pair_limit - other);
    }
    return result;
  }

  /// Rounds one column after the other and lets those that are left make up for the error.
  /// Returns the errors.
  RowMajor nearest_plane() const {
    const LargeMatrix<float>& factor = block_.factor();
    const Index columns = factor.cols();
    RowMajor errors(columns, count_);
    RowMajor carried(kPanel, count_);  // what the columns so far have for those of a panel
    for (Index end = columns; end > 0; end -= std::min(kPanel, end)) {
      const Index begin = std::max<Index>(end - kPanel, 0);
      set_product(factor.block(end, begin, columns - end, end - begin).transpose(),
                  errors.bottomRows(columns - end), carried.topRows(end - begin));
      for (Index k = end; k-- > begin;) {
        const std::size_t c = column(k);
        const Bounds limits = bounds(c);
        const Numbers step = steps(c);
        const auto exact = part(weights_.exact, c);
        auto integers = part(weights_.integers, c);
        integers = (exact + carried.row(k - begin).array() / factor(k, k) / step)
                       .rint()
                       .max(limits.low)
                       .min(limits.high);
        errors.row(k) = (exact - integers) * step;
        const Index before = k - begin;
        carried.topRows(before).noalias() +=
            factor.row(k).segment(begin, before).transpose() * errors.row(k);
      }
    }
    return errors;
  }

  /// Moves single integers of each output while its error falls.
  void descend(const RowMajor& errors) const {
    // Ends by itself, as the error falls with every move; this bounds the time of bad cases.
    constexpr int kSweeps = 8;
    const LargeMatrix<float>& hessian = block_.hessian();
    Matrix slopes(errors.rows(), errors.cols());
    set_product(hessian, errors, slopes);
    bool moved = true;
    for (int sweep = 0; sweep < kSweeps && moved; ++sweep) {
      moved = false;
      for (Index begin = 0; begin < hessian.cols(); begin += kPanel) {
        const Index width = std::min(kPanel, hessian.cols() - begin);
        RowMajor moves(width, count_);
        const Index count = descend_panel(begin, slopes.middleRows(begin, width), moves);
        if (count > 0) {
          follow(moves, count, begin, slopes);
          moved = true;
        }
      }
    }
  }

  /// Moves integers of the columns from `begin` on, whose slopes these are. Returns how many.
  Index descend_panel(Index begin, RowMajor slopes, RowMajor& moves) const {
    const LargeMatrix<float>& hessian = block_.hessian();
    Index count = 0;
    for (Index k = 0; k < slopes.rows(); ++k) {
      const std::size_t c = column(begin + k);
      const float curvature = hessian(begin + k, begin + k);
      const Bounds limits = bounds(c);
      const Numbers step = steps(c);
      const Numbers slope = slopes.row(k).array();
      auto integers = part(weights_.integers, c);
      const Numbers best =
          (integers + (slope / curvature / step).rint()).max(limits.low).min(limits.high);
      const Numbers move = (best - integers) * step;
      const auto helps = move * (slope - 0.5F * curvature * move) > 0;
      const Index moved = helps.count();
      if (moved == 0) {
        moves.row(k).setZero();
        continue;
      }
      count += moved;
      moves.row(k) = helps.select(move, 0.0F);
      integers = (moves.row(k).array() != 0).select(best, integers);
      slopes.noalias() -= hessian.col(begin + k).segment(begin, slopes.rows()) * moves.row(k);
    }
    return count;
  }

  /// What moves of some columns do to the slopes of all.
  void follow(const RowMajor& moves, Index count, Index begin, Matrix& slopes) const {
    const LargeMatrix<float>& hessian = block_.hessian();
    // Single moves cost more than their share of a matrix product.
    constexpr Index kFew = 4;
    if (count * kFew > moves.size()) {
      add_product(-1, hessian.middleCols(begin, moves.rows()), moves, slopes);
      return;
    }
    for (Index k = 0; k < moves.rows(); ++k) {
      for (Index output = 0; output < count_; ++output) {
        if (moves(k, output) != 0) {
          slopes.col(output) -= moves(k, output) * hessian.col(begin + k);
        }
      }
    }
  }

  const RoundingTask& task_;
  const InputHessian& block_;
  Weights& weights_;
  Index first_;
  Index count_;
};

LargeRowMajor held_out_rows(const RoundingTask& task, int threads) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < task.holdout.size(); ++i) {
    if (task.holdout[i]) {
      rows.push_back(i);
    }
  }
  LargeRowMajor result(static_cast<Index>(rows.size()), static_cast<Index>(task.columns));
  parallel_for(rows.size(), threads, [&](std::size_t, std::size_t i) {
    result.row(static_cast<Index>(i)) = Eigen::Map<const Eigen::RowVectorXf>(
        task.rows.data() + rows[i] * task.columns, static_cast<Index>(task.columns));
  });
  return result;
}

/// Squared errors over some rows, whose means may not count, of each column of `errors`.
Eigen::VectorXd squared_errors(const Matrix& errors, bool centred) {
  Eigen::VectorXd result(errors.cols());
  for (Index i = 0; i < errors.cols(); ++i) {
    const Eigen::VectorXd own = errors.col(i).cast<double>();
    const double mean = centred ? own.mean() : 0;
    result[i] = (own.array() - mean).square().sum();
  }
  return result;
}

/// Gives those of some outputs their nearest integers back that do no better on these rows.
void keep_better(const RoundingTask& task, const LargeRowMajor& rows, Index first, Index count,
                 Weights& weights) {
  const auto exact = weights.exact.middleCols(first, count).array();
  auto integers = weights.integers.middleCols(first, count).array();
  const RowMajor nearest = exact.rint().max(task.low).min(task.high);
  RowMajor lost(rows.cols(), 2 * count);
  lost.leftCols(count) = exact - integers;
  lost.rightCols(count) = exact - nearest.array();
  if (weights.steps.rows() > 0) {
    const auto steps = weights.steps.middleCols(first, count).array();
    lost.leftCols(count).array() *= steps;
    lost.rightCols(count).array() *= steps;
  }
  if (!task.units.empty()) {
    lost.array().colwise() *= Eigen::Map<const Eigen::ArrayXf>(task.units.data(), rows.cols());
  }
  Matrix outputs(rows.rows(), lost.cols());
  set_product(rows, lost, outputs);
  const Eigen::VectorXd errors = squared_errors(outputs, task.centred);
  for (Index i = 0; i < count; ++i) {
    if (!(errors[i] < errors[count + i])) {
      integers.col(i) = nearest.col(i).array();
    }
  }
}

/// How many outputs are in memory at a time: whole groups, and some for each thread.
std::size_t part_size(std::size_t columns, std::size_t group, int threads) {
  constexpr std::size_t kWeights = std::size_t{1} << 22U;
  return std::max(kWeights / columns / group, 2 * static_cast<std::size_t>(threads)) * group;
}

Eigen::Map<const Eigen::VectorXf> column_of(const std::vector<float>& values) {
  return {values.data(), static_cast<Index>(values.size())};
}

std::span<const float> elements_of(const Eigen::VectorXf& column) {
  return {column.data(), static_cast<std::size_t>(column.size())};
}

Weights read_weights(const RoundingTask& task, const WeightMatrix& matrix, std::size_t first,
                     std::size_t count, int threads) {
  const auto columns = static_cast<Index>(task.columns);
  const auto outputs = static_cast<Index>(count);
  Weights weights{{columns, outputs},
                  {columns, outputs},
                  matrix.has_steps ? LargeRowMajor(columns, outputs) : LargeRowMajor()};
  // Neighbours together, as they share what is read from the memory.
  constexpr std::size_t kTogether = 16;
  parallel_for((count + kTogether - 1) / kTogether, threads, [&](std::size_t, std::size_t i) {
    std::vector<float> values(task.columns);
    std::vector<float> steps(matrix.has_steps ? task.columns : 0);
    for (std::size_t k = i * kTogether; k < std::min((i + 1) * kTogether, count); ++k) {
      matrix.read(first + k, values, steps);
      weights.exact.col(static_cast<Index>(k)) = column_of(values);
      if (matrix.has_steps) {
        weights.steps.col(static_cast<Index>(k)) = column_of(steps);
      }
    }
  });
  parallel_for(task.columns, threads, [&](std::size_t, std::size_t i) {
    const auto row = static_cast<Index>(i);
    weights.integers.row(row) =
        weights.exact.row(row).array().rint().max(task.low).min(task.high);
  });
  return weights;
}

void write_weights(const WeightMatrix& matrix, std::size_t first, const Weights& weights,
                   int threads) {
  parallel_for(static_cast<std::size_t>(weights.integers.cols()), threads,
               [&](std::size_t, std::size_t i) {
                 const Eigen::VectorXf integers = weights.integers.col(static_cast<Index>(i));
                 const Eigen::VectorXf exact = weights.exact.col(static_cast<Index>(i));
                 matrix.write(first + i, elements_of(integers), elements_of(exact));
               });
}

void round_part(const RoundingTask& task, const std::vector<InputHessian>& blocks,
                const LargeRowMajor& holdout, std::size_t size, int threads, Weights& weights) {
  const auto outputs = static_cast<std::size_t>(weights.exact.cols());
  const auto for_each_group = [&](const auto& body) {
    parallel_for((outputs + size - 1) / size, threads, [&](std::size_t, std::size_t i) {
      const OneThread one_thread;
      const std::size_t first = i * size;
      body(static_cast<Index>(first), static_cast<Index>(std::min(size, outputs - first)));
    });
  };
  for (const InputHessian& block : blocks) {  // which is in the cache for all of them
    for_each_group(
        [&](Index from, Index count) { Gptq(task, block, weights, from, count).run(); });
  }
  for_each_group(
      [&](Index from, Index count) { keep_better(task, holdout, from, count, weights); });
}

}  // namespace

Share rounded_by(int rank, const RoundingTask& task, std::size_t outputs) {
  const std::size_t size = group_size(outputs);
  const Share groups = share_of((outputs + size - 1) / size, task.team, rank);
  return {std::min(outputs, groups.first * size), std::min(outputs, groups.end * size)};
}

void round_by_gptq(const RoundingTask& task, const WeightMatrix& matrix, int threads) {
  const LargeRowMajor holdout = held_out_rows(task, threads);
  std::vector<InputHessian> blocks;
  if (holdout.rows() > 0 && static_cast<std::size_t>(holdout.rows()) < task.holdout.size()) {
    for (std::size_t first = 0; first < task.columns; first += kBlock) {
      blocks.emplace_back(task, first, std::min(kBlock, task.columns - first), threads);
    }
  }
  const Share own =
      rounded_by(task.team == nullptr ? 0 : task.team->rank(), task, matrix.outputs);
  const std::size_t group = group_size(matrix.outputs);
  const std::size_t part = part_size(task.columns, group, threads);
  for (std::size_t first = own.first; first < own.end; first += part) {
    Weights weights =
        read_weights(task, matrix, first, std::min(part, own.end - first), threads);
    if (!blocks.empty()) {
      round_part(task, blocks, holdout, group, threads, weights);
    }
    write_weights(matrix, first, weights, threads);
  }
}

}  // namespace tare
