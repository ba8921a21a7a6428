#pragma once

#include "calibrate/rounding/gptq.h"
#include "calibrate/rounding/large_matrix.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace tare {

/// Rows and columns of a task, and what is known of them.
struct PartOfRows {
  std::span<const std::size_t> rows;
  std::span<const std::size_t> columns;  ///< in any order
  const Eigen::VectorXd& sums;           ///< of these columns over these rows
  float lowest = 0;                      ///< of all their numbers
};

/// The Gram matrix X'X of rows of a task, with their columns in some order. Its elements are
/// exact: those of X are integers that differ by 255 at most.
class GramMatrix {
 public:
  /// `threads` copy the rows.
  GramMatrix(const RoundingTask&, const PartOfRows&, int threads);

  Eigen::Index rows() const { return std::max(bytes_.rows(), floats_.rows()); }

  /// Elements of `height` rows and `width` columns of X'X. By one thread; safe to call at the
  /// same time.
  Eigen::MatrixXd block(Eigen::Index row, Eigen::Index column, Eigen::Index height,
                        Eigen::Index width) const;

 private:
  template <class T>
  using Rows = LargeMatrix<T, Eigen::RowMajor>;

  Eigen::MatrixXd of_floats(Eigen::Index row, Eigen::Index column, Eigen::Index height,
                            Eigen::Index width) const;
  Eigen::MatrixXd of_bytes(Eigen::Index row, Eigen::Index column, Eigen::Index height,
                           Eigen::Index width) const;

  // Either bytes or floats have no rows.
  Rows<std::uint8_t> bytes_;  ///< X and a shift
  Rows<std::int8_t> signed_;  ///< the same less 128
  double shift_ = 0;
  Eigen::VectorXd sums_;  ///< of the columns of X
  Rows<float> floats_;
};

}  // namespace tare
