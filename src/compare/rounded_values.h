#pragma once

#include "tare/execute.h"

#include "calibrate/statistics/observed.h"
#include "compare/deviation.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tare {

/// What is remembered of an activation and of the storage values that it is rounded to.
struct RoundedValues {
  Observed observed;         ///< the real values
  TensorStatistics visible;  ///< of what a Relu behind a sum shows of them; mostly empty
  DeviationSums error;       ///< of rounding them
  std::uint64_t below = 0;   ///< real values that are saturated at the low end,
  std::uint64_t above = 0;   ///< at the high end,
  std::uint64_t lost = 0;    ///< and that become 0 without being 0
  /// How often each storage value occurs, the lowest first.
  std::vector<std::uint64_t> counts;

  /// A float tensor and its storage values of 8 or 16 bits, in the same memory order.
  void observe(const TensorView& real, const TensorView& storage, std::size_t first_sample,
               std::size_t batch);
  void merge(const RoundedValues&);

  // For another process.
  void write(ByteWriter&) const;
  static RoundedValues read(ByteReader&);
};

}  // namespace tare
