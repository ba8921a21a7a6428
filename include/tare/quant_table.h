#pragma once

#include "tare/arithmetic.h"
#include "tare/config.h"
#include "tare/node.h"
#include "tare/tensor.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

struct QuantizeResult;
struct SimulatedGraph;
struct YamlNode;

enum class Role : std::uint8_t {
  kActivation,   ///< parameters chosen from data
  kWeight,       ///< parameters chosen from the constant itself
  kAccumulator,  ///< int32 at input scale * weight scale, zero point 0; also holds the bias
};

/// A point of a simulated graph: its place among SimulatedGraph::points.
struct PointId {
  std::uint32_t index = 0;
  auto operator<=>(const PointId&) const = default;
};

/// One place where a real value becomes an integer.
struct QuantPoint {
  std::string name;  ///< the value's name; the key in every table, file and report row
  ValueId value;     ///< in SimulatedGraph::source
  /// In SimulatedGraph::graph, before it is quantized: kActivation: the same value;
  /// kAccumulator, and kWeight in blocks: the first factor of the reader. Absent for other
  /// weights.
  ValueId simulated;
  Role role = Role::kActivation;
  QuantSpec spec;  ///< kAccumulator: the axis along which weight scales vary in the result
  CalibratorChoice calibrator;  ///< not used for kAccumulator
  /// kWeight, kAccumulator: the node (of source) that multiplies by it, or that accumulates.
  std::optional<NodeId> reader;
  std::string input;  ///< kAccumulator: the points whose scales multiply
  std::string weight;
  std::vector<ValueId> biases;  ///< kAccumulator: constants added at its scale
  bool corrects_bias = false;   ///< kAccumulator: undo the mean error of the weights there
  /// kAccumulator, kWeight in blocks: round the weight for the least error of its product.
  bool rounds_weight = false;
};

/// Points in the order in which regions use them. Tables and files know them by name, which is
/// looked up here; what builds graphs uses handles.
class QuantPoints {
 public:
  /// The name must be new, and the factors of an accumulator must be there.
  PointId add(QuantPoint);
  /// Takes the last ones out again, until that many are left.
  void shrink(std::size_t count);

  const QuantPoint& operator[](PointId id) const { return points_[id.index]; }
  QuantPoint& operator[](PointId id) { return points_[id.index]; }
  std::optional<PointId> find(std::string_view name) const;
  /// That whose scale is the product of the scales of these two.
  std::optional<PointId> accumulator(PointId input, PointId weight) const;

  std::vector<QuantPoint>::const_iterator begin() const { return points_.begin(); }
  std::vector<QuantPoint>::const_iterator end() const { return points_.end(); }
  std::size_t size() const { return points_.size(); }
  bool empty() const { return points_.empty(); }

 private:
  std::vector<QuantPoint> points_;
  std::map<std::string, PointId, std::less<>> by_name_;
  std::map<std::pair<PointId, PointId>, PointId> accumulators_;  ///< by their factors
};

/// Shares of some values, in [0,1].
struct Clipped {
  double low = 0;   ///< below the range
  double high = 0;  ///< above it

  friend bool operator==(const Clipped&, const Clipped&) = default;
};

/// What was decided for one point.
struct PointResult {
  bool enabled = true;  ///< false: the point passes values through and the region stays float
  QuantParams params;
  /// The range of the data: one, or one per channel; for blocks the one that has those of all.
  std::vector<Range> observed;
  std::vector<Range> calibrated;  ///< likewise, as the calibrator chose them
  /// Activations: shares of the values that the calibrator left outside, exact up to those in
  /// one bin of the histogram at each end.
  std::optional<Clipped> clipped;
  std::string calibrator;
  bool is_exact = false;  ///< the calibrator chose the parameters themselves; not in files
  std::uint64_t elements = 0;
  /// Weights: channels whose scale is wider than the range needs, for the kernel or the sums.
  std::vector<int> widened_channels;
  /// Weights: how far each integer is from the nearest one, in the order of the constant; empty
  /// where all are the nearest. It is -1, 0 or 1 unless scales were learned.
  SharedArray<std::int8_t> rounding;
  /// Accumulators: real values added to the bias, one per output channel, that undo the mean
  /// error of the rounded weights; empty where nothing is corrected.
  std::vector<float> bias_correction;

  friend bool operator==(const PointResult&, const PointResult&) = default;
};

/// Point name -> decision.
using QuantTable = std::map<std::string, PointResult>;

/// A mixed-precision plan: which nodes of a network stay in float, or for how much of its time
/// activations have 16 bits where none does.
struct MixedPrecisionPlan {
  std::set<std::string> float_nodes;  ///< that would run on integers if time alone counted
  double slowdown = 0;                ///< for which quantize() chooses activations of 16 bits
  double nanoseconds = 0;             ///< as PredictedTime::quantized; 0: not predicted
  double error = 0;                   ///< the sum of those of the points that are quantized
  double integer_share = 0;           ///< of the multiplications

  friend bool operator==(const MixedPrecisionPlan&, const MixedPrecisionPlan&) = default;
};

/// What a target is said to take for a run, in nanoseconds of one thread, conversions included.
/// Only operators that it gives costs for count.
struct PredictedTime {
  double floats = 0;     ///< of the float network
  double quantized = 0;  ///< of the quantized one
  double fastest = 0;    ///< and of that if nothing stayed float for the sake of accuracy
};

/// Something about samples or decisions that may be a mistake.
struct Warning {
  std::string kind;   ///< the same for all warnings of one sort: "dead_channels"
  std::string where;  ///< as in Fault
  std::string what;
};

/// What reconstruct() did: how many blocks it learned, and how many of them were better for it.
struct ReconstructionResult {
  std::size_t blocks = 0;
  std::size_t improved = 0;
  /// Squared error of the network's results on the holdout, relative to that before; 1 where
  /// nothing was kept.
  double error = 1;
};

/// What a table was made from, and what looked wrong on the way. The functions that calibrate
/// fill one when they are given one; for any number of threads it is the same.
struct CalibrationAudit {
  std::uint64_t samples = 0;  ///< how many were used
  std::uint64_t data = 0;     ///< sum of their digests
  std::vector<Warning> warnings;
  std::optional<ReconstructionResult> reconstruction{};  ///< absent: nothing was learned
};

/// By name of the value: one positive factor for each channel, which the channel is divided by.
/// For results of layers with constant weights, channels are indices of axis 1. For values that
/// matrices of weights multiply and that have rows (of the last axis of a normalization, or of
/// a layer where that is not axis 1), they are indices of that axis.
using ChannelFactors = std::map<std::string, std::vector<float>>;

/// A table as a file has it. It is checked against the graph that it is for.
class TableFile {
 public:
  /// Throws Error(kIo) when the file cannot be read or has more than 32 MiB,
  /// Error(kInvalidConfig) when it is no YAML.
  explicit TableFile(const std::filesystem::path&);

  /// What channels of the prepared graph are divided by. Throws Error(kInvalidConfig) with
  /// every value that the graph does not have, and where there is not one positive number for
  /// each channel.
  ChannelFactors factors(const Graph& prepared) const;
  /// Nodes of the prepared graph that stay float. Throws Error(kInvalidConfig) with all that it
  /// does not have.
  std::set<std::string> float_nodes(const Graph& prepared) const;
  /// Shape of one sample of each input, to load the model with; what is wrong with them is left
  /// to table().
  std::map<std::string, Shape> inputs() const;
  /// Parameters are those that were written, bit for bit; ranges and shares are rounded to
  /// float32. Scales of accumulators follow from their factors, and weights widen where a bias
  /// would not fit int32. The audit is of the pass that decided the table; its warnings are of
  /// keys that have the names of the version before. Throws Error(kInvalidConfig) with every
  /// fault at once, as file:line:column: unknown keys, values outside their range, another
  /// model or target, points that the graph does not have, points that are missing.
  QuantTable table(const SimulatedGraph&, CalibrationAudit* = nullptr) const;

 private:
  std::shared_ptr<const YamlNode> root_;
};

/// Writes what was decided for each point of the graph: YAML for people to read and change;
/// docs/table.md says what is in it. Equal tables give equal bytes. Throws Error(kIo).
void write_table(const std::filesystem::path&, const QuantizeResult&);

}  // namespace tare
