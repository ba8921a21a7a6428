#pragma once

#include "tare/calibrator.h"
#include "tare/statistics.h"

#include "calibrate/accumulators.h"

#include <cstddef>
#include <memory>

namespace tare {

/// What is remembered of one value.
struct Observed {
  Summary values;
  ChannelSummary channels;   ///< of rank 2 and more
  ChannelSummary held_back;  ///< the same, of runs that judge what the others led to
  /// Of a calibrator that looks at the values themselves; mostly null.
  std::unique_ptr<TensorObserver> tensors{};

  /// f32; a run of `batch` samples, which are its first axis where that has the same extent.
  void observe(const TensorView&, std::size_t batch, bool hold_back = false);
  void merge(const Observed&);

  ChannelSummary all_channels() const;
  ChannelMeans channel_means() const;
};

}  // namespace tare
