#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare::test {

/// A real ONNX Runtime, run as a process of its own.
class OnnxRuntimeProcess {
 public:
  /// Nothing when Node.js or the package is not to be had; `why` then says what is missing.
  static std::optional<OnnxRuntimeProcess> find(std::string& why);

  /// Outputs of all samples: one entry per model output, shape [samples, ...].
  std::vector<std::vector<float>> run(const std::filesystem::path& model,
                                      const std::filesystem::path& spec,
                                      const std::filesystem::path& folder) const;
  /// What a script beside onnxruntime.mjs prints, until it ends or dies.
  static std::string script(const std::string& name, const std::filesystem::path& operand);
  /// Operator types of the optimized graph with their counts.
  std::map<std::string, int> kernels(const std::filesystem::path& model) const;
};

}  // namespace tare::test
