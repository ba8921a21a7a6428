#pragma once

#include "tare/dataset.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare::test {

/// Samples held in memory: one tensor per input, first axis = sample.
class SamplesInMemory final : public Dataset {
 public:
  explicit SamplesInMemory(std::map<std::string, Tensor> values);

  std::size_t size() const override;
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override;
  std::optional<std::vector<std::int64_t>> labels() const override { return std::nullopt; }

 private:
  std::map<std::string, Tensor> values_;
  std::vector<DatasetInput> inputs_;
};

}  // namespace tare::test
