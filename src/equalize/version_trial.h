#pragma once

#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include <span>

namespace tare {

/// Finds out which version of a float graph is easier to quantize, on the samples of `options`.
struct VersionTrial {
  Graph graph;
  const Dataset& data;
  const Config& config;
  const Target& target;
  std::span<const QuantPattern> patterns;
  std::span<const CalibratorInfo> calibrators;
  CalibrateOptions options;

  /// A version, and what the samples showed of it.
  struct Version {
    const SimulatedGraph& simulated;
    const Statistics& seen;
  };

  SimulatedGraph simulate(const Graph&) const;
  /// Whether the changed version, quantized with whole ranges and tried, errs clearly less.
  bool is_clearly_better(const Version& changed, const Version& plain) const;
};

}  // namespace tare
