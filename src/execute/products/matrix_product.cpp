#include "execute/products/matrix_product.h"

#include <Eigen/Core>

namespace tare {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

template <class T>
void multiply(const T* a, const T* b, T* y, const MatrixExtents& extents) {
  const auto [rows, depth, columns] = extents;
  Eigen::Map<Matrix<T>>(y, rows, columns).noalias() =
      Eigen::Map<const Matrix<T>>(a, rows, depth) *
      Eigen::Map<const Matrix<T>>(b, depth, columns);
}

template void multiply(const float*, const float*, float*, const MatrixExtents&);
template void multiply(const double*, const double*, double*, const MatrixExtents&);
template void multiply(const std::uint64_t*, const std::uint64_t*, std::uint64_t*,
                       const MatrixExtents&);

template <class T>
void transpose(const T* x, std::int64_t rows, std::int64_t columns, T* y) {
  Eigen::Map<Matrix<T>>(y, columns, rows) =
      Eigen::Map<const Matrix<T>>(x, rows, columns).transpose();
}

template void transpose(const float*, std::int64_t, std::int64_t, float*);
template void transpose(const double*, std::int64_t, std::int64_t, double*);

}  // namespace tare
