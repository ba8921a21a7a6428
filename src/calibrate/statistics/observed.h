#pragma once

#include "tare/calibrator.h"
#include "tare/execute.h"
#include "tare/statistics.h"

#include "calibrate/rounding/accumulators.h"

#include <cstddef>
#include <memory>

namespace tare {

/// What is remembered of one value.
struct Observed {
  TensorStatistics values;
  ChannelStatistics channels;  ///< of rank 2 and more
  ChannelStatistics holdout;   ///< the same, of the runs held out
  /// Axis 1 had several extents, so what lies along it are no channels, and none are kept.
  bool mixed_channels = false;
  /// Of a calibrator that looks at the values themselves; mostly null.
  std::unique_ptr<Observer> observer{};

  /// f32; a run of `batch` samples, which are its first axis where that has the same extent.
  void observe(const TensorView&, std::size_t batch, bool into_holdout = false);
  void merge(const Observed&);

  void mix_channels();
  ChannelStatistics all_channels() const;
  ChannelMeans channel_means() const;
};

}  // namespace tare
