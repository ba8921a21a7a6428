#pragma once

#include "tare/dataset.h"
#include "tare/report.h"
#include "tare/statistics.h"

#include "compare/deviation.h"
#include "compare/rounded_values.h"
#include "compare/side_by_side.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace tare {

struct Measured {
  struct Layer {
    DeviationSums local;
    DeviationSums cumulative;
  };
  struct Output {
    DeviationSums error;
    std::optional<Proportion> agreement;
  };
  std::vector<Layer> layers;
  std::vector<RoundedValues> points;
  std::vector<Output> outputs;
  std::optional<AccuracyReport> accuracy;
  std::vector<SampleReport> worst_samples;
  std::size_t samples = 0;
};

struct MeasureOptions {
  int threads = 0;          ///< 0: one per core
  std::size_t samples = 0;  ///< 0: all
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// Runs both networks on the samples, in parallel. What it returns does not depend on the
/// number of threads, and its size not on that of samples.
Measured measure(const SideBySide&, const Dataset&, const MeasureOptions&);

}  // namespace tare
