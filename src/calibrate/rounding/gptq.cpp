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
// Cost for n rows, C columns in blocks of B <= 1024 and O outputs: about C B (n + B + O)
// multiplications, plus C B O for each sweep of the descent in which most integers move.
// Memory: 8 B^2 bytes for each thread, 16 B^2 more for H and its factor, and a copy of the
// rows.
#include "calibrate/rounding/gptq.h"

#include "base/parallel.h"
#include "execute/run/one_thread.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace tare {
namespace {

using Eigen::Index;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Columns whose interplay is looked at together; of more, blocks. Larger ones would catch more
/// of it, for a factor whose time grows with the cube, and 8 MiB in each thread as it is.
constexpr std::size_t kBlock = 1024;
/// Outputs that are rounded together: enough for a matrix product, few enough that threads have
/// equal shares of a small layer.
constexpr std::size_t kOutputs = 32;

/// The Hessian of an output's squared error with respect to its weights, but for a factor: X'X
/// / n of the rows X in some columns. Sums are exact, so it does not matter who adds up which.
Matrix input_hessian(const RowMajor& rows, bool centred, int threads) {
  // Integers up to 255: sums of that many products stay below 2^24, exact in float32.
  constexpr Index kExact = 256;
  const Index columns = rows.cols();
  std::vector<Eigen::MatrixXd> of_workers(static_cast<std::size_t>(threads));
  parallel_for(static_cast<std::size_t>((rows.rows() + kExact - 1) / kExact), threads,
               [&](std::size_t worker, std::size_t chunk) {
                 const OneThread one_thread;
                 const Index first = static_cast<Index>(chunk) * kExact;
                 const auto some =
                     rows.middleRows(first, std::min(kExact, rows.rows() - first));
                 Matrix part = Matrix::Zero(columns, columns);
                 part.selfadjointView<Eigen::Lower>().rankUpdate(some.transpose());
                 Eigen::MatrixXd& sums = of_workers[worker];
                 if (sums.size() == 0) {
                   sums.setZero(columns, columns);
                 }
                 sums += part.cast<double>();
               });
  Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(columns, columns);
  for (const Eigen::MatrixXd& own : of_workers) {
    if (own.size() != 0) {
      sums += own;
    }
  }
  const auto count = static_cast<double>(rows.rows());
  if (centred) {
    const Eigen::VectorXd means = rows.cast<double>().colwise().sum().transpose() / count;
    sums -= count * means * means.transpose();
  }
  return (sums / count).cast<float>();
}

/// That Hessian and its Cholesky factor: how errors of the weights act on the squared error of
/// an output.
class InputHessian {
 public:
  InputHessian(const RowMajor& rows, bool centred, int threads) {
    hessian_ = input_hessian(rows, centred, threads);
    // The more a column counts, the earlier it is rounded: the last one first.
    order_.resize(static_cast<std::size_t>(hessian_.cols()));
    std::iota(order_.begin(), order_.end(), Index{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](Index a, Index b) { return hessian_(a, a) < hessian_(b, b); });
    // 1 % of the mean diagonal, as in the paper: where rows do not span all columns, H has no
    // factor otherwise. The floor is for rows that are zero throughout.
    const float damping = std::max(0.01F * hessian_.diagonal().mean(), 1e-6F);
    hessian_.diagonal().array() += damping;
    hessian_.triangularView<Eigen::StrictlyUpper>() = hessian_.transpose();
    hessian_ = Matrix(hessian_(order_, order_));
    factor_ = hessian_.llt().matrixL();
  }

  const std::vector<Index>& order() const { return order_; }
  /// Of columns in order().
  const Matrix& hessian() const { return hessian_; }
  const Matrix& factor() const { return factor_; }

 private:
  std::vector<Index> order_;
  Matrix hessian_;
  Matrix factor_;
};

/// How much of its output a step of each weight is; 1 where all of one output are alike.
class Steps {
 public:
  explicit Steps(std::span<const float> steps) : steps_(steps) {}

  float operator[](std::size_t weight) const { return steps_.empty() ? 1 : steps_[weight]; }
  Steps from(std::size_t weight) const {
    return Steps(steps_.empty() ? steps_ : steps_.subspan(weight));
  }

 private:
  std::span<const float> steps_;
};

struct Bounds {
  float low;
  float high;
};

class Gptq {
 public:
  Gptq(const RoundingTask& task, const InputHessian& block, std::size_t first)
      : task_(task), hessian_of_block_(block), first_(first) {}

  /// `weights`, `integers` and `steps`: of some outputs, each with all columns. The integers
  /// hold a permitted choice.
  void run(std::span<const float> weights, std::span<float> integers,
           const Steps& steps) const {
    nearest_plane(weights, integers, steps);
    for (std::size_t i = 0; i < weights.size(); i += task_.columns) {
      descend(weights.subspan(i, task_.columns), integers.subspan(i, task_.columns),
              steps.from(i));
    }
  }

 private:
  std::size_t column(Index k) const {
    return first_ +
           static_cast<std::size_t>(hessian_of_block_.order()[static_cast<std::size_t>(k)]);
  }

  Bounds bounds(std::size_t column, float weight, std::span<const float> integers) const {
    const float nearest = std::clamp(std::nearbyint(weight), task_.low, task_.high);
    Bounds result{std::max(task_.low, nearest - 1), std::min(task_.high, nearest + 1)};
    if (!task_.partner.empty() && task_.partner[column] != column) {
      const float other = integers[task_.partner[column]];
      result.low = std::max(result.low, -task_.pair_limit - other);
      result.high = std::min(result.high, task_.pair_limit - other);
    }
    return result;
  }

  /// Rounds one column after the other and lets those that are left make up for the error.
  void nearest_plane(std::span<const float> weights, std::span<float> integers,
                     const Steps& steps) const {
    const Matrix& factor = hessian_of_block_.factor();
    const Index columns = factor.cols();
    const auto outputs = static_cast<Index>(weights.size() / task_.columns);
    RowMajor errors(columns, outputs);
    Eigen::RowVectorXf carried(outputs);
    for (Index k = columns; k-- > 0;) {
      const Index behind = columns - 1 - k;
      carried.noalias() = factor.col(k).tail(behind).transpose() * errors.bottomRows(behind);
      carried /= factor(k, k);
      for (Index o = 0; o < outputs; ++o) {
        const std::size_t at = static_cast<std::size_t>(o) * task_.columns;
        const std::size_t c = column(k);
        const auto own = integers.subspan(at, task_.columns);
        const Bounds limits = bounds(c, weights[at + c], own);
        const float step = steps[at + c];
        own[c] = std::clamp(std::nearbyint(weights[at + c] + carried[o] / step), limits.low,
                            limits.high);
        errors(k, o) = (weights[at + c] - own[c]) * step;
      }
    }
  }

  /// Moves single integers of one output while its error falls.
  void descend(std::span<const float> weights, std::span<float> integers,
               const Steps& steps) const {
    // Ends by itself, as the error falls with every move; this bounds the time of bad cases.
    constexpr int kSweeps = 8;
    const Matrix& hessian = hessian_of_block_.hessian();
    const Index columns = hessian.cols();
    Eigen::VectorXf errors(columns);
    for (Index k = 0; k < columns; ++k) {
      const std::size_t c = column(k);
      errors[k] = (weights[c] - integers[c]) * steps[c];
    }
    Eigen::VectorXf slope = hessian.selfadjointView<Eigen::Lower>() * errors;
    bool moved = true;
    for (int sweep = 0; sweep < kSweeps && moved; ++sweep) {
      moved = false;
      for (Index k = 0; k < columns; ++k) {
        const std::size_t c = column(k);
        const Bounds limits = bounds(c, weights[c], integers);
        const float best =
            std::clamp(integers[c] + std::nearbyint(slope[k] / hessian(k, k) / steps[c]),
                       limits.low, limits.high);
        const float step = (best - integers[c]) * steps[c];
        if (step != 0 && step * (slope[k] - 0.5F * step * hessian(k, k)) > 0) {
          integers[c] = best;
          slope -= step * hessian.col(k);
          moved = true;
        }
      }
    }
  }

  const RoundingTask& task_;
  const InputHessian& hessian_of_block_;
  std::size_t first_;
};

/// Squared error of one output over some rows.
double error_over(const RowMajor& rows, std::span<const float> weights,
                  std::span<const float> integers, const Steps& steps, bool centred) {
  Eigen::VectorXf lost(rows.cols());
  for (Index c = 0; c < lost.size(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    lost[c] = (weights[at] - integers[at]) * steps[at];
  }
  const Eigen::VectorXd errors = (rows * lost).cast<double>();
  const double mean = centred ? errors.mean() : 0;
  return (errors.array() - mean).square().sum();
}

RowMajor select_rows(const RoundingTask& task, bool holdout) {
  const std::size_t count =
      static_cast<std::size_t>(std::count(task.holdout.begin(), task.holdout.end(), holdout));
  RowMajor result(static_cast<Index>(count), static_cast<Index>(task.columns));
  Index to = 0;
  for (std::size_t i = 0; i < task.holdout.size(); ++i) {
    if (task.holdout[i] == holdout) {
      result.row(to++) = Eigen::Map<const Eigen::RowVectorXf>(
          task.rows.data() + i * task.columns, static_cast<Index>(task.columns));
    }
  }
  return result;
}

}  // namespace

void round_by_gptq(const RoundingTask& task, std::span<float> weights, int threads) {
  const RowMajor fitting = select_rows(task, false);
  const RowMajor holdout = select_rows(task, true);
  std::vector<float> integers(weights.begin(), weights.end());
  for (float& integer : integers) {
    integer = std::clamp(std::nearbyint(integer), task.low, task.high);
  }
  if (fitting.rows() == 0 || holdout.rows() == 0) {
    std::copy(integers.begin(), integers.end(), weights.begin());
    return;
  }
  const std::vector<float> nearest = integers;
  const Steps steps(task.steps);
  const std::size_t outputs = weights.size() / task.columns;
  for (std::size_t first = 0; first < task.columns; first += kBlock) {
    const std::size_t width = std::min(kBlock, task.columns - first);
    const InputHessian block(
        fitting.middleCols(static_cast<Index>(first), static_cast<Index>(width)), task.centred,
        threads);
    const Gptq gptq(task, block, first);
    parallel_for(
        (outputs + kOutputs - 1) / kOutputs, threads, [&](std::size_t, std::size_t chunk) {
          const OneThread one_thread;
          const std::size_t from = chunk * kOutputs * task.columns;
          const std::size_t size = std::min(kOutputs * task.columns, weights.size() - from);
          gptq.run(weights.subspan(from, size), std::span(integers).subspan(from, size),
                   steps.from(from));
        });
  }
  parallel_for(outputs, threads, [&](std::size_t, std::size_t output) {
    const OneThread one_thread;
    const std::size_t from = output * task.columns;
    const auto exact = weights.subspan(from, task.columns);
    const auto chosen = std::span<const float>(integers).subspan(from, task.columns);
    const auto plain = std::span<const float>(nearest).subspan(from, task.columns);
    const Steps own = steps.from(from);
    const bool better = error_over(holdout, exact, chosen, own, task.centred) <
                        error_over(holdout, exact, plain, own, task.centred);
    std::copy_n(better ? chosen.begin() : plain.begin(), task.columns, exact.begin());
  });
}

}  // namespace tare
