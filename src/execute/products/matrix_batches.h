#pragma once

#include "tare/tensor.h"

#include <cstdint>
#include <vector>

namespace tare {

/// numpy.matmul: operands of rank 1 are a row on the left and a column on the right, leading
/// axes broadcast.
struct MatrixBatches {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  struct Pair {
    std::int64_t a = 0;  ///< which matrix of the left operand
    std::int64_t b = 0;
  };
  std::vector<Pair> pairs;  ///< one per matrix of the result
  Shape result;
};

/// Throws Error(kInvalidModel) when the shapes do not fit together.
MatrixBatches make_matrix_batches(const Shape& left, const Shape& right);

}  // namespace tare
