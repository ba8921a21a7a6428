#pragma once

#include "tare/calibrator.h"
#include "tare/dataset.h"
#include "tare/exact_sum.h"
#include "tare/execute.h"
#include "tare/simulate.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Statistics of the channels (indices of axis 1) of one tensor over all samples: mergeable and
/// independent of order, like TensorStatistics.
class ChannelStatistics {
 public:
  /// f32 of rank 2 or more, every time with the same extent of axis 1. Channels with NaN or
  /// infinities, which TensorStatistics counts, count as 0 in the sums. Returns the extremes of
  /// the tensor, unless it is empty or a sum of a channel is not finite.
  std::optional<MinMax> observe(const TensorView&);
  /// Throws Error(kInvalidData) when both have seen tensors of different extents.
  void merge(const ChannelStatistics&);

  std::size_t channels() const { return sums_.size(); }  ///< 0: nothing was seen
  std::uint64_t elements() const { return elements_; }   ///< in each channel
  const std::vector<float>& lows() const { return lows_; }
  const std::vector<float>& highs() const { return highs_; }
  const std::vector<ExactSum>& sums() const { return sums_; }
  std::vector<double> means() const;

  /// Throws Error(kInvalidData) when the vectors differ in length.
  static ChannelStatistics of(std::uint64_t elements, std::vector<float> lows,
                              std::vector<float> highs, std::vector<ExactSum> sums);

  friend bool operator==(const ChannelStatistics&, const ChannelStatistics&) = default;

 private:
  void require_channels(std::size_t count) const;

  std::uint64_t elements_ = 0;
  std::vector<float> lows_;
  std::vector<float> highs_;
  std::vector<ExactSum> sums_;
};

/// What a pass over the data showed of a model: enough to choose the parameters of every point
/// again, with any calibrator. Samples in another order, or cut in parts and merged, give equal
/// statistics.
struct Statistics {
  std::uint64_t model = 0;  ///< digest of the prepared graph
  std::uint64_t data = 0;   ///< sum of the digests of the samples
  std::uint64_t samples = 0;
  std::map<std::string, Shape> inputs;                ///< shape of one sample, by input
  std::map<std::string, TensorStatistics> values;     ///< by name of the value
  std::map<std::string, ChannelStatistics> channels;  ///< the same, for rank 2 and more

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// Runs the simulated graph with every point disabled over the samples that the options ask
/// for, but for the first so_far.samples of them, and adds what they show to `so_far`. Once
/// options.stop says true it returns what the first samples gave, to be called again. The audit
/// is of the samples alone. Throws
/// Error(kInvalidData) when data and graph inputs do not fit together, or `so_far` is of
/// another model.
Statistics collect(const SimulatedGraph&, const Dataset&, const CalibrateOptions& = {},
                   Statistics so_far = {}, CalibrationAudit* = nullptr);

/// Names a prepared graph: equal for equal graphs, constants included.
std::uint64_t model_digest(const Graph&);
/// What Statistics::data is after `samples` samples from `first` on.
std::uint64_t data_digest(const Graph&, const Dataset&, std::size_t first, std::size_t samples);

/// Adds statistics of other samples. Throws Error(kInvalidData) when they are of another model
/// or of other values of it.
void merge(const Statistics& from, Statistics& into);

/// Decides every point from statistics alone. The audit cannot tell whether samples repeat.
/// Throws Error(kInvalidData) with every value that is missing from them, or when they are of
/// another model; Error(kInvalidConfig) for a calibrator that is not known.
QuantTable choose(const SimulatedGraph&, const Statistics&, std::span<const CalibratorInfo>,
                  CalibrationAudit* = nullptr, int threads = 1);

/// HDF5; docs/statistics.md says what is in it. The same statistics give the same bytes. Throw
/// Error(kIo), and Error(kInvalidData) for files that hold something else.
void write_statistics(const std::filesystem::path&, const Statistics&);
Statistics read_statistics(const std::filesystem::path&);

}  // namespace tare
