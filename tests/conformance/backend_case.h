#pragma once

#include "tare/graph.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tare::test {

/// One stored run of a model.
struct DataSet {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

/// One folder of the onnx project's backend tests: a model and runs of it.
class BackendCase {
 public:
  explicit BackendCase(std::filesystem::path folder);

  const std::vector<std::string>& ops() const { return ops_; }
  std::size_t data_sets() const { return data_sets_.size(); }

  /// The model as far as it is known before it runs: inputs have the shapes of the data, and
  /// operands that the shape of a result depends on (axes, pads, ...) are constants of their
  /// values there, because the toolkit compiles graphs of static shapes.
  Graph graph(std::size_t data_set) const;
  /// The inputs that graph() left, and all outputs.
  DataSet data(std::size_t data_set) const;

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> data_sets_;
  std::vector<std::string> ops_;
};

/// What the data sets cannot be read for or a graph cannot be made for: an element type the
/// toolkit does not have, an operator without a kernel, a shape that depends on data.
class NotInScope : public std::exception {
 public:
  explicit NotInScope(std::string reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

}  // namespace tare::test
