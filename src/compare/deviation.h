#pragma once

#include "tare/arithmetic.h"
#include "tare/execute.h"
#include "tare/report.h"

#include "base/bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tare {

/// Of some values x and what became of them, y.
struct ErrorSums {
  double xx = 0;    ///< sum of x^2
  double xd = 0;    ///< sum of x (y - x)
  double dd = 0;    ///< sum of (y - x)^2
  double peak = 0;  ///< largest |y - x|

  void add(const ErrorSums&);
};

/// The sums of two rows of the same length, in a fixed order.
ErrorSums error_sums(std::span<const float> x, std::span<const float> y);

/// What is remembered of the errors of a stream of tensors: fixed size, and the same whatever
/// the order of the tensors and however they are grouped and merged.
class DeviationSums {
 public:
  /// A float tensor and what stands for it: real values or storage values. `first_sample` is
  /// the number of the first of the `batch` samples of the run.
  void observe(const TensorView& real, const TensorView& quantized, std::size_t first_sample,
               std::size_t batch);
  void merge(const DeviationSums&);

  // For another process.
  void write(ByteWriter&) const;
  static DeviationSums read(ByteReader&);

  Deviation deviation() const;

 private:
  void add(const ErrorSums&, std::size_t count);
  void offer(const LargestError&);

  std::uint64_t count_ = 0;
  bool is_finite_ = true;
  ExactSum xx_;
  ExactSum xd_;
  ExactSum dd_;
  std::optional<LargestError> largest_;
};

}  // namespace tare
