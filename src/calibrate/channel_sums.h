#pragma once

#include "tare/exact_sum.h"
#include "tare/execute.h"

#include <cstdint>
#include <vector>

namespace tare {

/// Sums over a stream of tensors, one for each index of axis 1, independent of the order of the
/// tensors and of how they were shared among threads.
class ChannelSums {
 public:
  /// f32 of rank 2 or more, every time with the same extent of axis 1.
  void observe(const TensorView&);
  void merge(const ChannelSums&);
  /// Mean of each channel; empty when nothing was seen.
  std::vector<double> means() const;

 private:
  std::vector<ExactSum> sums_;
  std::uint64_t elements_ = 0;  // in each channel
};

}  // namespace tare
