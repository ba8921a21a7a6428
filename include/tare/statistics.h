#pragma once

#include "tare/arithmetic.h"
#include "tare/calibrator.h"
#include "tare/dataset.h"
#include "tare/quant_table.h"
#include "tare/tensor.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tare {

class Graph;
struct SimulatedGraph;
struct TensorView;

/// What processes that share work tell each other.
enum class Message : std::uint8_t {
  kStatistics,  ///< what their samples showed of values
  kErrors,      ///< of results, in trials and comparisons
  kRows,        ///< that weights are multiplied with
  kHessians,    ///< of layers
  kRoundings,   ///< weights
  kOther,       ///< digests of samples, and what the first decides for all
};

/// Processes that share one piece of work. Each has the same inputs and calls the same
/// functions in the same order, from one thread at a time, and each gets the whole result.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;   ///< of this process, from 0
  virtual int count() const = 0;  ///< of processes
  /// What each process gave, by rank. Throws Error(kIo) when a process is gone.
  virtual std::vector<std::string> gather(std::string own, Message) = 0;
  /// The same in place: `all` holds `sizes[i]` bytes of each process i, one behind another.
  /// This process has filled in its own, and gets those of the others. Calls gather(), to be
  /// overridden where there is a quicker way. Throws as gather().
  virtual void gather_in_place(std::span<std::byte> all, std::span<const std::size_t> sizes,
                               Message);
};

struct CalibrateOptions {
  int threads = 0;          ///< 0: one per core
  std::size_t samples = 0;  ///< those before this one; 0: all
  std::size_t first = 0;    ///< and from this one on; a whole number of runs
  /// Sequential schedule: bytes of the activation cache that stay in memory; the rest is in a
  /// temporary file. 0: what 64 samples take, 16 MiB at least, and at most an eighth of
  /// available_memory().
  std::size_t memory = 0;
  /// quantize(), sequential schedule: the file in which decisions are kept level by level, from
  /// which the same work resumes; to be removed when the result is safe. Empty: none.
  std::filesystem::path checkpoint{};
  std::vector<std::filesystem::path> plugins{};  ///< whose bytes are part of what is the same
  /// Processes that share the samples and the rounding; null: this one does all. The result
  /// does not depend on their number.
  Communicator* communicator = nullptr;
  /// Called from one thread at a time with samples done and samples in all; may be empty. What
  /// it throws ends the work.
  std::function<void(std::size_t done, std::size_t total)> progress{};
  /// Called from any thread; true ends the pass after the samples under way. May be empty.
  std::function<bool()> stop{};
};

/// Statistics of the channels (indices of axis 1) of one tensor over all samples: mergeable and
/// independent of order, like TensorStatistics.
class ChannelStatistics {
 public:
  /// f32 of rank 2 or more, every time with the same extent of axis 1. Channels with NaN or
  /// infinities, which TensorStatistics counts, count as 0 in the sums. Returns the extremes of
  /// the tensor, unless it is empty or a sum of a channel is not finite.
  std::optional<MinMax> observe(const TensorView&);
  /// Throws Error(kInvalidData) when both have observed tensors of different extents.
  void merge(const ChannelStatistics&);

  std::size_t channels() const { return sums_.size(); }  ///< 0: nothing was observed
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
  /// The same, where a Relu behind a sum hides a part of the value: of max(value, -relu(other))
  /// with the other operand. Some values have none if all or some samples were observed by a
  /// version that did not look at it.
  std::map<std::string, TensorStatistics> visible{};

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

/// Where collect_resumably() keeps the statistics so far.
struct CollectCheckpoint {
  std::filesystem::path file;
  std::chrono::milliseconds interval =
      std::chrono::seconds(10);  ///< from one write to the next
  Hdf5Options reading{};
};

/// collect(), with the statistics so far in the checkpoint after every interval and when
/// options.stop says true. Goes on from that file where it is of the same values of the same
/// model and its samples are the first ones of the data, and removes it in the end. Returns
/// fewer samples than the data has only when it was stopped. The audit is of the samples alone.
Statistics collect_resumably(const SimulatedGraph&, const Dataset&, const CalibrateOptions&,
                             const CollectCheckpoint&, CalibrationAudit* = nullptr);

/// Names a prepared graph: equal for equal graphs, constants included.
std::uint64_t model_digest(const Graph&);
/// What Statistics::data is after `samples` samples from `first` on.
std::uint64_t data_digest(const Graph&, const Dataset&, std::size_t first, std::size_t samples);

/// Adds statistics of other samples. Throws Error(kInvalidData) when they are of another model
/// or of other values of it.
void merge(const Statistics& from, Statistics& into);

/// HDF5; docs/statistics.md says what is in it. The same statistics give the same bytes. Throw
/// Error(kIo), and Error(kInvalidData) for files that hold something else.
void write_statistics(const std::filesystem::path&, const Statistics&);
Statistics read_statistics(const std::filesystem::path&, const Hdf5Options& = {});

/// What looks as if samples were prepared in another way than those that the network was
/// trained on, in the order of the inputs; docs/warnings.md says by what. Of some samples that
/// are spread over the data. The model is as it was read: batch norms that preparing folds
/// remember what training saw. The data fits the model.
std::vector<Warning> audit_inputs(const Graph& model, const Dataset&, int threads = 0);

/// Too few samples to see the range of most values; nothing where there are enough, or where
/// none were used, as nothing has a range.
std::vector<Warning> audit_sample_count(std::size_t samples);

/// Inputs of one number that no operator reads: what depended on them was decided for the value
/// that they have in the first sample, see ReadOptions::input_values.
std::vector<Warning> audit_unread_inputs(const Graph&, const Dataset&);

}  // namespace tare
