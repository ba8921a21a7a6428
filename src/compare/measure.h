#pragma once

#include "tare/dataset.h"
#include "tare/report.h"

#include "compare/deviation.h"
#include "compare/rounded_values.h"
#include "compare/side_by_side.h"

#include <cstddef>
#include <optional>
#include <span>
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
  std::vector<MetricReport> metrics;
  std::vector<SampleReport> worst_samples;
  std::size_t samples = 0;
};

/// Runs both networks on the samples, in parallel. What it returns does not depend on the
/// number of threads, and its size not on that of samples.
Measured measure(const SideBySide&, const Dataset&, std::span<const MetricInfo>,
                 const CompareOptions&);

}  // namespace tare
