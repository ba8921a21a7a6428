#include "support/files/samples_of_several_shapes.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tare::test {

SamplesOfSeveralShapes::SamplesOfSeveralShapes(
    std::map<std::string, std::vector<Tensor>> samples)
    : samples_(std::move(samples)) {
  for (const auto& [name, all] : samples_) {
    const auto largest =
        std::max_element(all.begin(), all.end(),
                         [](const Tensor& a, const Tensor& b) { return a.size() < b.size(); });
    inputs_.push_back({.name = name, .dtype = largest->dtype(), .shape = largest->shape()});
  }
}

Tensor SamplesOfSeveralShapes::read(const std::string& input, std::size_t first,
                                    std::size_t count) const {
  if (count != 1) {
    throw std::logic_error("samples of several shapes are read one by one");
  }
  const Tensor& sample = samples_.at(input).at(first);
  Shape shape = sample.shape();
  shape.insert(shape.begin(), 1);
  return sample.reshaped(std::move(shape));
}

}  // namespace tare::test
