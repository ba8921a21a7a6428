#pragma once

#include "kernels/trial.h"

namespace tare::test {

/// What comes behind a sum of products, for the compiler to fuse: steps of an accumulator,
/// residuals, Relu and Clip in any order, or nothing.
class Ending {
 public:
  /// `axis`: that of the channels in the result.
  Ending(const Shape& result, int axis, Random&);

  /// Of the sums themselves.
  TensorType sum_type() const { return sum_; }
  /// Appends the nodes to `sums`; the result, which `expected` is brought to.
  ValueId append(Trial&, ValueId sums, Expected& expected) const;

 private:
  ValueId scale(Trial&, ValueId, Expected&) const;
  ValueId add(Trial&, ValueId, Expected&) const;
  ValueId clip(Trial&, ValueId, Expected&) const;

  TensorType sum_;
  std::int64_t steps_ = 0;
};

/// What comes behind a sum of products of storage values: the rounding to storage values of
/// other parameters, or nothing.
class IntegerEnding {
 public:
  /// `sums`: what they are held in; `axis`: that of the channels in the result.
  IntegerEnding(DType sums, const Shape& result, int axis, Random&);

  /// Of the sums themselves.
  TensorType sum_type() const { return sum_; }
  /// Appends the node to `sums`; the result, which `expected` is brought to: the very values.
  ValueId append(Trial&, ValueId sums, Expected& expected) const;

 private:
  TensorType sum_;
  TensorType rounded_;
  bool rounds_ = false;
};

}  // namespace tare::test
