#pragma once

#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include <span>

namespace tare {

/// Finds out which version of a float graph is easier to quantize, on holdout samples: ranges
/// observed on few samples look too good on these.
struct VersionTrial {
  Graph reference;  ///< what errors are counted against
  Graph graph;      ///< which computes the same
  const Dataset& data;
  const Config& config;
  const Target& target;
  std::span<const QuantPattern> patterns;
  std::span<const CalibratorInfo> calibrators;
  CalibrateOptions fitting;  ///< the samples that factors are fitted to
  CalibrateOptions holdout;  ///< the holdout samples behind them
  /// Both, by which versions are quantized, as they are in the end.
  CalibrateOptions all() const;

  /// A version, and what the samples showed of it.
  struct Version {
    const SimulatedGraph& simulated;
    const Statistics& observed;
  };

  SimulatedGraph simulate(const Graph&) const;
  /// Whether the changed version, quantized with whole ranges and tried, errs clearly less.
  bool is_clearly_better(const Version& changed, const Version& plain) const;
};

}  // namespace tare
