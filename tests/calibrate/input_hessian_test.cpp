#include "calibrate/rounding/input_hessian.h"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Integers in so many columns, a quarter of whose rows are held out.
struct HessianRows {
  std::size_t columns;
  std::vector<float> values{};
  RoundingTask task{};

  HessianRows(std::size_t columns_, std::size_t rows, bool centred) : columns(columns_) {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> level(0, 200);
    std::uniform_int_distribution<int> own(0, 55);
    for (std::size_t row = 0; row < rows; ++row) {
      const int shared = level(random) - 100;  // as those less a zero point may be
      for (std::size_t c = 0; c < columns; ++c) {
        values.push_back(static_cast<float>(shared + own(random)));
      }
      task.holdout.push_back(row % 4 == 3);
    }
    task.columns = columns;
    task.rows = values;
    task.centred = centred;
  }

  /// By the definition, without damping.
  double second_moment(std::size_t a, std::size_t b) const {
    double products = 0;
    double sum_a = 0;
    double sum_b = 0;
    double count = 0;
    for (std::size_t row = 0; row < task.holdout.size(); ++row) {
      if (!task.holdout[row]) {
        const double x = values[row * columns + a];
        const double y = values[row * columns + b];
        products += x * y;
        sum_a += x;
        sum_b += y;
        ++count;
      }
    }
    return products / count - (task.centred ? sum_a / count * (sum_b / count) : 0);
  }
};

class InputHessians : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(CentredOrNot, InputHessians, ::testing::Bool());

TEST_P(InputHessians, AreSecondMomentsOfTheFittingRowsInTheirOrder) {
  // More columns than fit into two tiles, more rows than are summed in float32 at once.
  const HessianRows rows(270, 900, GetParam());
  const InputHessian block(rows.task, 5, 260, 1);
  const auto& order = block.order();
  ASSERT_EQ(order.size(), 260U);
  double mean = 0;
  for (const std::size_t column : order) {
    mean += rows.second_moment(column, column) / 260;
  }
  for (Eigen::Index i = 0; i < 260; ++i) {
    const std::size_t a = order[static_cast<std::size_t>(i)];
    EXPECT_GE(a, 5U);
    EXPECT_LT(a, 265U);
    for (Eigen::Index j = 0; j < 260; j += 3) {
      const std::size_t b = order[static_cast<std::size_t>(j)];
      const double expected = rows.second_moment(a, b) + (i == j ? 0.01 * mean : 0);
      // Two roundings to float32.
      EXPECT_NEAR(block.hessian()(i, j), expected, 3e-7 * rows.second_moment(a, a) + 1e-3)
          << i << ' ' << j;
    }
  }
  for (std::size_t k = 1; k < order.size(); ++k) {
    EXPECT_LE(rows.second_moment(order[k - 1], order[k - 1]),
              rows.second_moment(order[k], order[k]) * (1 + 1e-6));
  }
}

TEST_P(InputHessians, HaveACholeskyFactor) {
  const HessianRows rows(300, 700, GetParam());
  const InputHessian block(rows.task, 0, 300, 2);
  const Eigen::MatrixXd factor =
      Eigen::MatrixXd(block.factor().cast<double>().triangularView<Eigen::Lower>());
  const Eigen::MatrixXd product = factor * factor.transpose();
  const Eigen::MatrixXd expected = block.hessian().cast<double>();
  // Backward error of a factorization in float32: a few times the size, in units of 2^-24.
  const double bound = 300 * 0x1p-24 * expected.diagonal().maxCoeff();
  EXPECT_LT((product - expected).cwiseAbs().maxCoeff(), bound);
}

TEST_P(InputHessians, DoNotDependOnThreads) {
  const HessianRows rows(300, 700, GetParam());
  const InputHessian one(rows.task, 0, 300, 1);
  for (const int threads : {2, 5}) {
    const InputHessian other(rows.task, 0, 300, threads);
    EXPECT_EQ(other.order(), one.order());
    EXPECT_TRUE(other.hessian() == one.hessian());
    EXPECT_TRUE(Eigen::MatrixXf(other.factor().triangularView<Eigen::Lower>()) ==
                Eigen::MatrixXf(one.factor().triangularView<Eigen::Lower>()));
  }
}

}  // namespace
}  // namespace tare::test
