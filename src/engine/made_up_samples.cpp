#include "engine/made_up_samples.h"

#include "base/check.h"

#include <algorithm>

namespace tare {

/// Whole inputs: each sample has the rank of its input, so that one of them is a run.
MadeUpSamples::MadeUpSamples(ModelInputs values) : values_(std::move(values)) {
  for (const auto& [name, value] : values_) {
    inputs_.push_back({.name = name, .dtype = value.dtype(), .shape = value.shape()});
  }
}

Tensor MadeUpSamples::read(const std::string& input, std::size_t, std::size_t) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const auto& entry) { return entry.first == input; });
  check(found != values_.end(), "an input that was not made up");
  Shape shape = found->second.shape();
  shape.insert(shape.begin(), 1);
  return found->second.reshaped(std::move(shape));
}

}  // namespace tare
