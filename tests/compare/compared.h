#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/quantize.h"
#include "tare/report.h"

#include "support/files/models.h"

#include <memory>

namespace tare::test {

/// A network that was quantized with few samples, beside its evaluation data.
struct Compared {
  explicit Compared(const TestModel& files, Config settings = {})
      : config(std::move(settings)),
        data(open_dataset(files.evaluation)),
        model(load_model(files.model, {}, data.get())) {
    const auto calibration = open_dataset(files.calibration);
    result = quantize(model, *calibration, config, Toolkit::builtin(), {.samples = 16});
  }

  /// The float network that the quantized one is compared with.
  const Graph& real() const { return result.prepared; }

  Report report(const CompareOptions& options) const {
    return compare_result(result, *data, Toolkit::builtin(), options);
  }

  Config config;
  std::unique_ptr<Dataset> data;
  Graph model;
  QuantizeResult result;
};

}  // namespace tare::test
