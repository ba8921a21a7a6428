#include "calibrate/observed.h"

namespace tare {

void Observed::observe(const TensorView& view, std::size_t batch) {
  const auto elements = view.elements<float>();
  const Shape& shape = view.type->shape;
  const auto extremes = shape.size() >= 2 ? channels.observe(view) : std::nullopt;
  if (batch == 1 && extremes) {
    values.observe(elements, *extremes);
    return;
  }
  // Whatever the memory order, the first axis varies slowest.
  const std::size_t samples =
      !shape.empty() && static_cast<std::size_t>(shape[0]) == batch ? batch : 1;
  const std::size_t each = elements.size() / samples;
  for (std::size_t i = 0; i < samples; ++i) {
    values.observe(elements.subspan(i * each, each));
  }
}

void Observed::merge(const Observed& other) {
  values.merge(other.values);
  if (other.channels.channels() > 0) {
    channels.merge(other.channels);
  }
}

}  // namespace tare
