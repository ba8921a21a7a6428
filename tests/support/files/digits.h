#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include <filesystem>
#include <memory>
#include <vector>

namespace tare::test {

/// The network and the samples of data/, ready for statistics.
struct Digits {
  static std::filesystem::path file(const char* name) {
    return std::filesystem::path(TARE_SOURCE_DIR) / "data" / name;
  }

  std::unique_ptr<Dataset> data = open_dataset(file("digits_calibration.h5"));
  Graph model = load_model(file("digits.onnx"), {}, data.get());
  SimulatedGraph simulated = simulate_all(model, {}, Toolkit::builtin());

  /// What a network for these samples makes of the first ten.
  std::vector<float> results(const Graph& graph) const {
    std::vector<float> all;
    run_dataset(ready_to_run(graph, {}, Toolkit::builtin()), *data, 1, 10,
                [&](std::size_t, std::vector<Tensor> outputs) {
                  const std::vector<float> scores = outputs[0].to_float();
                  all.insert(all.end(), scores.begin(), scores.end());
                });
    return all;
  }
};

}  // namespace tare::test
