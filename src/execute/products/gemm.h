#pragma once

#include "execute/products/matrix_product.h"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace tare {

/// A factor of a product: rows that lie `stride` elements apart, or columns where it is
/// transposed.
template <class T>
struct GemmFactor {
  const T* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// c = alpha a b + beta c by oneDNN, where c has rows `stride` elements apart: SGEMM (Dongarra,
/// Du Croz, Hammarling and Duff, "A Set of Level 3 Basic Linear Algebra Subprograms", 1990).
/// On the threads that OpenMP has here, see OneThread.
void gemm(float alpha, const GemmFactor<float>& a, const GemmFactor<float>& b, float beta,
          float* c, std::int64_t stride, const MatrixExtents&);

/// Whether products of bytes are computed with every bit.
bool has_exact_byte_products();

/// c = a b. Asked for only where they are exact, and for at most kMostByteProducts products in
/// a sum.
void gemm(const GemmFactor<std::uint8_t>& a, const GemmFactor<std::int8_t>& b, std::int32_t* c,
          std::int64_t stride, const MatrixExtents&);

/// Of bytes: so many times 255 * 128 is below 2^31.
inline constexpr std::int64_t kMostByteProducts = std::int64_t{1} << 16U;

namespace detail {

template <class Matrix>
auto gemm_factor(const Matrix& matrix, bool transposed) {
  using T = std::remove_const_t<std::remove_reference_t<decltype(*matrix.data())>>;
  return GemmFactor<T>{matrix.data(), matrix.outerStride(), Matrix::IsRowMajor == transposed};
}

/// The first product takes the 30 ms in which oneDNN writes its code. Networks whose products
/// have no more than so many multiplications are done with them by then.
inline constexpr double kWorthCode = 2e6;

template <class A, class B, class C>
void multiply(float alpha, const A& a, const B& b, float beta, C& c) {
  using Result = std::remove_reference_t<C>;
  const double products = static_cast<double>(a.rows()) * static_cast<double>(a.cols()) *
                          static_cast<double>(b.cols());
  if (products < kWorthCode) {
    if (beta == 0) {
      c.noalias() = alpha * a * b;
    } else {
      c.noalias() += alpha * a * b;
    }
  } else if constexpr (Result::IsRowMajor) {
    gemm(alpha, gemm_factor(a, false), gemm_factor(b, false), beta, c.data(), c.outerStride(),
         {a.rows(), a.cols(), b.cols()});
  } else {  // its rows are columns: c' = b' a'
    gemm(alpha, gemm_factor(b, true), gemm_factor(a, true), beta, c.data(), c.outerStride(),
         {b.cols(), a.cols(), a.rows()});
  }
}

}  // namespace detail

/// c += alpha a b for matrices, blocks and transposed ones of Eigen, which multiplies half as
/// fast on processors with AVX-512: it is compiled for all of them. Large ones by oneDNN.
template <class A, class B, class C>
void add_product(float alpha, const A& a, const B& b, C&& c) {
  detail::multiply(alpha, a, b, 1, c);
}

/// c = a b
template <class A, class B, class C>
void set_product(const A& a, const B& b, C&& c) {
  detail::multiply(1, a, b, 0, c);
}

}  // namespace tare
