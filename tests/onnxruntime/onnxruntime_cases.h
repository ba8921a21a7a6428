#pragma once

#include "tare/tensor.h"

#include "onnxruntime_process.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tare::test {

/// By name.
using Tensors = std::map<std::string, Tensor>;

/// A model and samples, which may have several shapes.
struct OnnxRuntimeCase {
  std::filesystem::path model;
  std::vector<Tensors> samples;
  /// Input: output that it is one sample later. The first sample has its first value.
  std::map<std::string, std::string> state{};
  /// Whether ONNX Runtime may make one rounding of two that follow each other with different
  /// scales, which it does unless it is told not to. All other optimizations are on.
  bool merges_roundings = true;
};

struct OnnxRuntimeOutputs {
  std::vector<Tensors> samples;
  std::string error;  ///< empty: it ran
};

/// Runs all cases in one process, and in another one what follows a case that ends it; `folder`
/// is for files.
std::vector<OnnxRuntimeOutputs> run_cases(const OnnxRuntimeProcess&,
                                          std::span<const OnnxRuntimeCase>,
                                          const std::filesystem::path& folder);

}  // namespace tare::test
