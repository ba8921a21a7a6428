#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include <filesystem>
#include <memory>

namespace tare::test {

/// The network and the samples of data/, ready for statistics.
struct Digits {
  static std::filesystem::path file(const char* name) {
    return std::filesystem::path(TARE_SOURCE_DIR) / "data" / name;
  }

  std::unique_ptr<Dataset> data = open_dataset(file("digits_calibration.h5"));
  Graph model = load_model(file("digits.onnx"), {}, data.get());
  SimulatedGraph simulated = simulate_all(model, {}, Toolkit::builtin());
};

}  // namespace tare::test
