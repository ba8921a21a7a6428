#pragma once

#include "tare/dataset.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare::test {

/// Samples held in memory, each of its own shape: whole inputs of a network.
class SamplesOfSeveralShapes final : public Dataset {
 public:
  /// By input, as many of each.
  explicit SamplesOfSeveralShapes(std::map<std::string, std::vector<Tensor>> samples);

  std::size_t size() const override { return samples_.begin()->second.size(); }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  bool has_several_shapes() const override { return true; }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override;
  std::optional<std::vector<std::int64_t>> labels() const override { return std::nullopt; }

 private:
  std::map<std::string, std::vector<Tensor>> samples_;
  std::vector<DatasetInput> inputs_;
};

}  // namespace tare::test
