#include "calibrate/observed.h"

namespace tare {

void Observed::observe(const TensorView& view, std::size_t batch) {
  const auto elements = view.elements<float>();
  const Shape& shape = view.type->shape;
  const auto extremes = shape.size() >= 2 ? channels.observe(view) : std::nullopt;
  // Whatever the memory order, the first axis varies slowest.
  const std::size_t samples =
      !shape.empty() && static_cast<std::size_t>(shape[0]) == batch ? batch : 1;
  const std::size_t each = elements.size() / samples;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto sample = elements.subspan(i * each, each);
    if (batch == 1 && extremes) {
      values.observe(sample, *extremes);
    } else {
      values.observe(sample);
    }
    if (tensors != nullptr) {
      tensors->observe(sample);
    }
  }
}

void Observed::merge(const Observed& other) {
  values.merge(other.values);
  if (other.channels.channels() > 0) {
    channels.merge(other.channels);
  }
  if (tensors != nullptr) {
    tensors->merge(*other.tensors);
  }
}

}  // namespace tare
