#include "calibrate/observed.h"

namespace tare {

void Observed::observe(const TensorView& view, std::size_t batch, bool hold_back) {
  const auto elements = view.elements<float>();
  const Shape& shape = view.type->shape;
  const auto extremes =
      shape.size() >= 2 ? (hold_back ? held_back : channels).observe(view) : std::nullopt;
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
  channels.merge(other.channels);
  held_back.merge(other.held_back);
  if (tensors != nullptr) {
    tensors->merge(*other.tensors);
  }
}

ChannelSummary Observed::all_channels() const {
  ChannelSummary result = channels;
  result.merge(held_back);
  return result;
}

ChannelMeans Observed::channel_means() const {
  const ChannelSummary all = all_channels();
  if (channels.elements() == 0 || held_back.elements() == 0) {
    return {all.means()};
  }
  return {all.means(), held_back.means(),
          static_cast<double>(held_back.elements()) / static_cast<double>(all.elements())};
}

}  // namespace tare
