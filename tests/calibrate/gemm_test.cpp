#include "execute/products/gemm.h"

#include <cmath>
#include <limits>

#include <Eigen/Core>
#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Eigen::Index;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColumnMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;

/// Small ones are computed by Eigen, large ones by oneDNN.
class Products : public ::testing::TestWithParam<Index> {
 protected:
  /// Of parts of matrices, as rounding has them: c -= 2 a b, and c = a b.
  template <class A, class B, class C>
  void expect_products(const A& a, const B& b) {
    const Eigen::MatrixXd before = Eigen::MatrixXd::Random(a.rows(), b.cols());
    const Eigen::MatrixXd product = a.template cast<double>() * b.template cast<double>();
    // A rounding for each product and each sum of numbers up to 1.
    const double bound = 3.0 * static_cast<double>((a.cols() + 2) * (a.cols() + 2)) *
                         static_cast<double>(std::numeric_limits<float>::epsilon());
    C whole = C::Zero(a.rows() + 3, b.cols() + 5);
    auto part = whole.block(1, 2, a.rows(), b.cols());
    part = before.cast<float>();
    add_product(-2, a, b, part);
    EXPECT_LE((part.template cast<double>() - (before - 2 * product)).cwiseAbs().maxCoeff(),
              bound);
    part.setConstant(std::numeric_limits<float>::quiet_NaN());
    set_product(a, b, part);
    EXPECT_LE((part.template cast<double>() - product).cwiseAbs().maxCoeff(), bound);
    whole.block(1, 2, a.rows(), b.cols()).setZero();
    EXPECT_TRUE((whole.array() == 0).all()) << "something beside the result was written";
  }
};
INSTANTIATE_TEST_SUITE_P(SmallAndLarge, Products, ::testing::Values(7, 150));

TEST_P(Products, AreThoseOfAllLayouts) {
  const Index n = GetParam();
  const RowMajor a = RowMajor::Random(n, n + 4);
  const ColumnMajor b = ColumnMajor::Random(n + 2, n + 1);
  const auto left = a.block(0, 1, n, n + 2);
  expect_products<decltype(left), ColumnMajor, RowMajor>(left, b);
  expect_products<decltype(left), ColumnMajor, ColumnMajor>(left, b);
  const auto right = left.transpose();
  const auto other = b.transpose();
  expect_products<decltype(other), decltype(right), RowMajor>(other, right);
  expect_products<decltype(other), decltype(right), ColumnMajor>(other, right);
}

TEST(ProductsOfNothing, AreZero) {
  float c = 5;
  const float number = 1;
  gemm(1, {&number, 1, false}, {&number, 1, false}, 1, &c, 1, {1, 0, 1});
  EXPECT_EQ(c, 5);
  gemm(1, {&number, 1, false}, {&number, 1, false}, 0, &c, 1, {1, 0, 1});
  EXPECT_EQ(c, 0);
}

}  // namespace
}  // namespace tare::test
