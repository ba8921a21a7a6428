#pragma once

#include "tare/dataset.h"

#include "engine/engine.h"

#include <optional>
#include <string>
#include <vector>

namespace tare {

/// One run of a model as a data set.
class MadeUpSamples final : public Dataset {
 public:
  explicit MadeUpSamples(ModelInputs);

  std::size_t size() const override { return size_; }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override;
  std::optional<std::vector<std::int64_t>> labels() const override { return std::nullopt; }

 private:
  ModelInputs values_;
  std::vector<DatasetInput> inputs_;
  std::size_t size_ = 1;
};

}  // namespace tare
