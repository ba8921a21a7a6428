#pragma once

#include "calibrate/rounding/gptq.h"
#include "calibrate/rounding/large_matrix.h"

#include <cstddef>
#include <vector>

namespace tare {

/// How errors of the weights of some columns act on the squared error of an output: the Hessian
/// X'X / n of that error, but for a factor, over the rows X of a task that are not held out,
/// with some damping on its diagonal, and the Cholesky factor of that.
class InputHessian {
 public:
  /// Of the columns [first, first + width). There is at least one such row. `threads` do not
  /// change a bit of it.
  InputHessian(const RoundingTask&, std::size_t first, std::size_t width, int threads);

  /// The columns, those with the least diagonal first: rows and columns of both matrices.
  const std::vector<std::size_t>& order() const { return order_; }
  /// Both triangles.
  const LargeMatrix<float>& hessian() const { return hessian_; }
  /// Only the lower triangle is defined.
  const LargeMatrix<float>& factor() const { return factor_; }

 private:
  std::vector<std::size_t> order_;
  LargeMatrix<float> hessian_;
  LargeMatrix<float> factor_;
};

}  // namespace tare
