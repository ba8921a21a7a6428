#include "calibrate/plain_gptq.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace tare::test {
namespace {

using SquareMatrix = std::vector<std::vector<double>>;

std::vector<double> errors_over_rows(const MatrixTask& task, std::span<const float> weights,
                                     std::span<const float> integers, std::size_t output,
                                     bool holdout) {
  std::vector<double> errors;
  for (std::size_t row = 0; row < task.holdout.size(); ++row) {
    if (task.holdout[row] != holdout) {
      continue;
    }
    double error = 0;
    for (std::size_t c = 0; c < task.columns; ++c) {
      const std::size_t at = output * task.columns + c;
      const double step = task.steps.empty() ? 1 : static_cast<double>(task.steps[at]);
      error += static_cast<double>(task.rows[row * task.columns + c]) * step *
               (static_cast<double>(weights[at]) - static_cast<double>(integers[at]));
    }
    errors.push_back(error);
  }
  return errors;
}

/// mean(x x') over the rows that are not held out, without that of the means where the mean
/// error does not count, and with 1 % of the mean diagonal more on the diagonal.
SquareMatrix plain_hessian(const RoundingTask& task) {
  const std::size_t columns = task.columns;
  SquareMatrix sums(columns, std::vector<double>(columns));
  std::vector<double> means(columns);
  double count = 0;
  for (std::size_t row = 0; row < task.holdout.size(); ++row) {
    if (task.holdout[row]) {
      continue;
    }
    const auto x = task.rows.subspan(row * columns, columns);
    for (std::size_t i = 0; i < columns; ++i) {
      means[i] += static_cast<double>(x[i]);
      for (std::size_t j = 0; j < columns; ++j) {
        sums[i][j] += static_cast<double>(x[i]) * static_cast<double>(x[j]);
      }
    }
    ++count;
  }
  double diagonal = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double of_means = means[i] / count * (means[j] / count);
      sums[i][j] = sums[i][j] / count - (task.centred ? of_means : 0);
    }
    diagonal += sums[i][i] / static_cast<double>(columns);
  }
  for (std::size_t i = 0; i < columns; ++i) {
    sums[i][i] += std::max(0.01 * diagonal, 1e-6);
  }
  return sums;
}

/// Least important first.
std::vector<std::size_t> by_importance(const SquareMatrix& hessian) {
  std::vector<std::size_t> order(hessian.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return static_cast<float>(hessian[a][a]) < static_cast<float>(hessian[b][b]);
  });
  return order;
}

/// x with a x = b, by elimination; `a` is positive definite.
std::vector<double> solved(SquareMatrix a, std::vector<double> b) {
  for (std::size_t k = 0; k < b.size(); ++k) {
    for (std::size_t i = k + 1; i < b.size(); ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < b.size(); ++j) {
        a[i][j] -= factor * a[k][j];
      }
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = b.size(); k-- > 0;) {
    for (std::size_t j = k + 1; j < b.size(); ++j) {
      b[k] -= a[k][j] * b[j];
    }
    b[k] /= a[k][k];
  }
  return b;
}

class PlainGptq {
 public:
  PlainGptq(const MatrixTask& task, std::span<const float> weights)
      : task_(task),
        weights_(weights),
        hessian_(plain_hessian(task)),
        order_(by_importance(hessian_)) {}

  std::vector<float> run() {
    const std::vector<float> nearest = nearest_integers();
    integers_ = nearest;
    round_columns();
    for (std::size_t output = 0; output < outputs(); ++output) {
      descend(output);
      keep_if_better(output, nearest);
    }
    return integers_;
  }

 private:
  std::size_t outputs() const { return weights_.size() / task_.columns; }
  double step(std::size_t at) const {
    return task_.steps.empty() ? 1 : static_cast<double>(task_.steps[at]);
  }
  double error(std::size_t at) const {
    return (static_cast<double>(weights_[at]) - static_cast<double>(integers_[at])) * step(at);
  }

  std::vector<float> nearest_integers() const {
    std::vector<float> result(weights_.begin(), weights_.end());
    for (float& weight : result) {
      weight = std::clamp(std::nearbyint(weight), task_.low, task_.high);
    }
    return result;
  }

  /// The nearest integer and its neighbours, as far as the range and the partner permit.
  std::vector<float> permitted(std::size_t output, std::size_t column) const {
    const std::size_t at = output * task_.columns + column;
    const float nearest = std::clamp(std::nearbyint(weights_[at]), task_.low, task_.high);
    std::vector<float> result;
    for (const float choice : {nearest - 1, nearest, nearest + 1}) {
      bool fits = choice >= task_.low && choice <= task_.high;
      if (!task_.partner.empty() && task_.partner[column] != column) {
        const float other = integers_[output * task_.columns + task_.partner[column]];
        fits = fits && std::abs(choice + other) <= task_.pair_limit;
      }
      if (fits) {
        result.push_back(choice);
      }
    }
    return result;
  }

  /// The columns of which `open` is one that is left may have any errors, and have those with
  /// which e' H e is least: H_open e_open = -H_open,closed e_closed.
  void round_columns() {
    std::vector<std::size_t> open = order_;
    std::vector<std::size_t> closed;
    while (!open.empty()) {
      const std::size_t column = open.back();
      SquareMatrix of_open;
      for (const std::size_t i : open) {
        std::vector<double>& row = of_open.emplace_back();
        for (const std::size_t j : open) {
          row.push_back(hessian_[i][j]);
        }
      }
      std::vector<double> last(open.size());
      last.back() = 1;
      const std::vector<double> row_of_inverse = solved(of_open, last);
      for (std::size_t output = 0; output < outputs(); ++output) {
        double wanted = 0;
        for (std::size_t i = 0; i < open.size(); ++i) {
          for (const std::size_t j : closed) {
            wanted -=
                row_of_inverse[i] * hessian_[open[i]][j] * error(output * task_.columns + j);
          }
        }
        const std::size_t at = output * task_.columns + column;
        const double best = static_cast<double>(weights_[at]) - wanted / step(at);
        integers_[at] = nearest_of(permitted(output, column), best);
      }
      closed.push_back(column);
      open.pop_back();
    }
  }

  static float nearest_of(const std::vector<float>& choices, double wanted) {
    return *std::min_element(choices.begin(), choices.end(), [&](float a, float b) {
      return std::abs(static_cast<double>(a) - wanted) <
             std::abs(static_cast<double>(b) - wanted);
    });
  }

  double squared(std::size_t output) const {
    double sum = 0;
    for (std::size_t i = 0; i < task_.columns; ++i) {
      for (std::size_t j = 0; j < task_.columns; ++j) {
        sum += error(output * task_.columns + i) * hessian_[i][j] *
               error(output * task_.columns + j);
      }
    }
    return sum;
  }

  /// Gives one weight after the other the best of its permitted integers.
  void descend(std::size_t output) {
    for (int sweep = 0; sweep < 8; ++sweep) {
      bool moved = false;
      for (const std::size_t column : order_) {
        float& own = integers_[output * task_.columns + column];
        const float before = own;
        float best = before;
        double least = squared(output);
        for (const float choice : permitted(output, column)) {
          own = choice;
          if (const double now = squared(output); now < least) {
            least = now;
            best = choice;
          }
        }
        own = best;
        moved = moved || best != before;
      }
      if (!moved) {
        return;
      }
    }
  }

  void keep_if_better(std::size_t output, const std::vector<float>& nearest) {
    if (squared_error(task_, weights_, integers_, output, true) <
        squared_error(task_, weights_, nearest, output, true)) {
      return;
    }
    const std::size_t first = output * task_.columns;
    std::copy_n(nearest.begin() + static_cast<std::ptrdiff_t>(first), task_.columns,
                integers_.begin() + static_cast<std::ptrdiff_t>(first));
  }

  const MatrixTask& task_;
  std::span<const float> weights_;
  SquareMatrix hessian_;
  std::vector<std::size_t> order_;
  std::vector<float> integers_;
};

}  // namespace

void round_matrix(const MatrixTask& task, std::span<float> weights, int threads) {
  const auto own = [&](std::size_t output) {
    return weights.subspan(output * task.columns, task.columns);
  };
  round_by_gptq(
      task,
      {.outputs = weights.size() / task.columns,
       .has_steps = !task.steps.empty(),
       .read =
           [&](std::size_t output, std::span<float> to, std::span<float> steps) {
             std::ranges::copy(own(output), to.begin());
             if (!steps.empty()) {
               std::ranges::copy(task.steps.subspan(output * task.columns, task.columns),
                                 steps.begin());
             }
           },
       .write =
           [&](std::size_t output, std::span<const float> integers, std::span<const float>) {
             std::ranges::copy(integers, own(output).begin());
           }},
      threads);
}

std::vector<float> plain_gptq(const MatrixTask& task, std::span<const float> weights) {
  return PlainGptq(task, weights).run();
}

double squared_error(const MatrixTask& task, std::span<const float> weights,
                     std::span<const float> integers, std::size_t output, bool holdout) {
  const std::vector<double> errors = errors_over_rows(task, weights, integers, output, holdout);
  double mean = 0;
  for (const double error : errors) {
    mean += task.centred ? error / static_cast<double>(errors.size()) : 0;
  }
  double sum = 0;
  for (const double error : errors) {
    sum += (error - mean) * (error - mean);
  }
  return sum;
}

std::size_t outputs_unlike_plain(const MatrixTask& task, std::span<const float> weights,
                                 std::span<const float> integers) {
  const std::vector<float> expected = plain_gptq(task, weights);
  std::size_t unlike = 0;
  for (std::size_t output = 0; output < weights.size() / task.columns; ++output) {
    const std::size_t first = output * task.columns;
    unlike += std::equal(integers.begin() + static_cast<std::ptrdiff_t>(first),
                         integers.begin() + static_cast<std::ptrdiff_t>(first + task.columns),
                         expected.begin() + static_cast<std::ptrdiff_t>(first))
                  ? 0
                  : 1;
  }
  return unlike;
}

}  // namespace tare::test
