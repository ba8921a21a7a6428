#pragma once

#include <cstdint>

namespace tare {

struct MatrixExtents {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
};

/// y = a b by Eigen: a has rows x depth elements, b depth x columns, y rows x columns, all row
/// by row; y is neither of the others. T is float, double or std::uint64_t, which wraps around.
template <class T>
void multiply(const T* a, const T* b, T* y, const MatrixExtents&);

/// y[j][i] = x[i][j] for x of rows x columns elements. T is float or double.
template <class T>
void transpose(const T* x, std::int64_t rows, std::int64_t columns, T* y);

}  // namespace tare
