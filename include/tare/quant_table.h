#pragma once

#include "tare/quant_params.h"
#include "tare/tensor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare {

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
  std::vector<Range> observed;    ///< range of the data; one, or one per channel
  std::vector<Range> calibrated;  ///< the range that the calibrator chose
  /// Activations: shares of the values that the calibrator left outside, exact up to those in
  /// one bin of the histogram at each end.
  std::optional<Clipped> clipped;
  std::string calibrator;
  std::uint64_t elements = 0;
  /// Weights: channels whose scale is wider than the range needs, for the kernel or the sums.
  std::vector<int> widened_channels;
  /// Weights: how far each integer is from the nearest one, -1, 0 or 1, in the order of the
  /// constant; empty where all are the nearest.
  std::vector<std::int8_t> rounding;
  /// Accumulators: real values added to the bias, one per output channel, that undo the mean
  /// error of the rounded weights; empty where nothing is corrected.
  std::vector<float> bias_correction;

  friend bool operator==(const PointResult&, const PointResult&) = default;
};

/// Point name -> decision.
using QuantTable = std::map<std::string, PointResult>;

/// Something about samples or decisions that may be a mistake.
struct Warning {
  std::string kind;   ///< the same for all warnings of one sort: "dead_channels"
  std::string where;  ///< as in Fault
  std::string what;
};

/// What a table was made from, and what looked wrong on the way. The functions that calibrate
/// fill one when they are given one; for any number of threads it is the same.
struct CalibrationAudit {
  std::uint64_t samples = 0;  ///< how many were used
  std::uint64_t data = 0;     ///< sum of their digests
  std::vector<Warning> warnings;
};

/// The integers that a weight becomes, in storage type.
Tensor quantized_weight(const Tensor& exact, const PointResult&);

/// The real values of a bias (one per output channel) with the correction of the accumulator
/// that it is added to.
Tensor corrected_bias(const Tensor& bias, const PointResult& accumulator);

}  // namespace tare
