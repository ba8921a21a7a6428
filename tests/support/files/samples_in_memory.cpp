#include "support/files/samples_in_memory.h"

#include <utility>

namespace tare::test {

SamplesInMemory::SamplesInMemory(std::map<std::string, Tensor> values)
    : values_(std::move(values)) {
  for (const auto& [name, tensor] : values_) {
    const Shape& shape = tensor.shape();
    inputs_.push_back({name, tensor.dtype(), {shape.begin() + 1, shape.end()}});
  }
}

std::size_t SamplesInMemory::size() const {
  return static_cast<std::size_t>(values_.begin()->second.shape()[0]);
}

Tensor SamplesInMemory::read(const std::string& input, std::size_t first,
                             std::size_t count) const {
  return values_.at(input).rows(static_cast<std::int64_t>(first),
                                static_cast<std::int64_t>(count));
}

}  // namespace tare::test
