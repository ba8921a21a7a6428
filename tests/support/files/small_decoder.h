#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include <filesystem>
#include <memory>

namespace tare::test {

/// The decoder of data/, for whole sequences, and its samples.
struct SmallDecoder {
  static std::filesystem::path file(const char* name) {
    return std::filesystem::path(TARE_SOURCE_DIR) / "data" / name;
  }

  std::unique_ptr<Dataset> data = open_dataset(file("decoder_calibration.h5"));
  std::unique_ptr<Dataset> evaluation = open_dataset(file("decoder_evaluation.h5"));
  Graph model = load_model(file("decoder.onnx"), {}, data.get());
};

}  // namespace tare::test
