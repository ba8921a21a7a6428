#pragma once

#include "tare/quant_params.h"
#include "tare/tensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tare {

/// What was decided for one point.
struct PointResult {
  bool enabled = true;  ///< false: the point passes values through and the region stays float
  QuantParams params;
  std::vector<Range> seen;    ///< extremes of the data; one, or one per channel
  std::vector<Range> chosen;  ///< what the calibrator kept of it
  std::string calibrator;
  std::uint64_t elements = 0;
  std::vector<int> widened_channels;  ///< weights: scale widened so that the bias fits int32
  /// Accumulators: real values added to the bias, one per output channel, that undo the mean
  /// error of the rounded weights; empty where nothing is corrected.
  std::vector<float> bias_correction;

  friend bool operator==(const PointResult&, const PointResult&) = default;
};

/// Point name -> decision.
using QuantTable = std::map<std::string, PointResult>;

/// The real values of a bias (one per output channel) with the correction of the accumulator
/// that it is added to.
Tensor corrected_bias(const Tensor& bias, const PointResult& accumulator);

}  // namespace tare
