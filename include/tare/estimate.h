#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/statistics.h"
#include "tare/toolkit.h"

#include <map>

namespace tare {

/// What quantizing a network is expected to take, before it begins.
struct CostEstimate {
  /// Wall time in seconds of each effort, with as many threads as were asked for; of kBest no
  /// more than a guess, as it depends on what pays.
  std::map<Effort, double> seconds;
  double memory = 0;       ///< bytes, with the configured effort
  double activations = 0;  ///< of these, what the activation cache takes
  double disk = 0;         ///< bytes of temporary files, in TMPDIR, at most
};

/// Runs the float network for half a second, or once, and adds up what docs/scaling.md says
/// that quantizing costs. On an idle machine 24 of 25 networks took between half and twice as
/// long, and all of them 0.3 to 1.3 times the memory. Throws as prepare(), and as running the
/// network does.
CostEstimate estimate_cost(const Graph& model, const Dataset&, const Config&, const Toolkit&,
                           const CalibrateOptions& = {});

}  // namespace tare
