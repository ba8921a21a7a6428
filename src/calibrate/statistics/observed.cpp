// What one thread keeps of one value. Samples of a batch are taken apart, since means of
// extremes are over samples, and held-out runs get channel statistics of their own. Where
// channels have been looked at already, their extremes are those of the tensor and spare a pass
// over it.
#include "calibrate/statistics/observed.h"

#include <algorithm>

namespace tare {

void Observed::observe(const TensorView& view, std::size_t batch, bool into_holdout) {
  const auto elements = view.elements<float>();
  const Shape& shape = view.type->shape;
  if (shape.size() >= 2) {
    const std::size_t known = std::max(channels.channels(), holdout.channels());
    if (known > 0 && known != static_cast<std::size_t>(shape[1])) {
      mix_channels();
    }
  }
  const auto extremes = shape.size() >= 2 && !mixed_channels
                            ? (into_holdout ? holdout : channels).observe(view)
                            : std::nullopt;
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
    if (observer != nullptr) {
      observer->observe(sample);
    }
  }
}

void Observed::merge(const Observed& other) {
  values.merge(other.values);
  const std::size_t own = std::max(channels.channels(), holdout.channels());
  const std::size_t theirs = std::max(other.channels.channels(), other.holdout.channels());
  if (other.mixed_channels || (own > 0 && theirs > 0 && own != theirs)) {
    mix_channels();
  }
  if (!mixed_channels) {
    channels.merge(other.channels);
    holdout.merge(other.holdout);
  }
  if (observer != nullptr) {
    observer->merge(*other.observer);
  }
}

void Observed::mix_channels() {
  mixed_channels = true;
  channels = {};
  holdout = {};
}

ChannelStatistics Observed::all_channels() const {
  ChannelStatistics result = channels;
  result.merge(holdout);
  return result;
}

ChannelMeans Observed::channel_means() const {
  const ChannelStatistics all = all_channels();
  if (channels.elements() == 0 || holdout.elements() == 0) {
    return {all.means()};
  }
  return {all.means(), holdout.means(),
          static_cast<double>(holdout.elements()) / static_cast<double>(all.elements())};
}

}  // namespace tare
