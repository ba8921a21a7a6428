#pragma once

#include "tare/dataset.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// Samples held in memory: one tensor per input, first axis = sample.
class SamplesInMemory final : public Dataset {
 public:
  explicit SamplesInMemory(std::map<std::string, Tensor> values) : values_(std::move(values)) {
    for (const auto& [name, tensor] : values_) {
      const Shape& shape = tensor.shape();
      inputs_.push_back({name, tensor.dtype(), {shape.begin() + 1, shape.end()}});
    }
  }
  std::size_t size() const override {
    return static_cast<std::size_t>(values_.begin()->second.shape()[0]);
  }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    return values_.at(input).rows(static_cast<std::int64_t>(first),
                                  static_cast<std::int64_t>(count));
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return std::nullopt; }

 private:
  std::map<std::string, Tensor> values_;
  std::vector<DatasetInput> inputs_;
};

}  // namespace tare
