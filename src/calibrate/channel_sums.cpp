#include "calibrate/channel_sums.h"

#include "graph/per_axis.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tare {
namespace {

/// Adds rows of `sums.size()` values. Floats hold the sum of a few rows, since twice as many of
/// them are added at a time as doubles.
void add_rows(std::span<const float> values, std::vector<double>& sums) {
  constexpr std::size_t kRows = 32;
  const std::size_t width = sums.size();
  std::vector<float> partial(width);
  for (std::size_t first = 0; first < values.size(); first += kRows * width) {
    const std::size_t last = std::min(values.size(), first + kRows * width);
    std::fill(partial.begin(), partial.end(), 0.0F);
    for (std::size_t row = first; row < last; row += width) {
      for (std::size_t i = 0; i < width; ++i) {
        partial[i] += values[row + i];
      }
    }
    for (std::size_t i = 0; i < width; ++i) {
      sums[i] += static_cast<double>(partial[i]);
    }
  }
}

/// Independent lanes, because the compiler may not reorder one sum into vector code.
double sum_of(std::span<const float> values) {
  std::array<double, 16> lanes{};
  std::size_t i = 0;
  for (; i + lanes.size() <= values.size(); i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane] += static_cast<double>(values[i + lane]);
    }
  }
  for (; i < values.size(); ++i) {
    lanes[0] += static_cast<double>(values[i]);
  }
  double sum = 0;
  for (const double lane : lanes) {
    sum += lane;
  }
  return sum;
}

}  // namespace

void ChannelSums::observe(const TensorView& view) {
  const Shape& shape = view.type->shape;
  const auto channels = static_cast<std::size_t>(shape.at(1));
  const auto values = view.elements<float>();
  if (values.empty()) {
    return;
  }
  std::vector<double> sums(channels);
  if (view.channels_last || values.size() == channels * static_cast<std::size_t>(shape[0])) {
    add_rows(values, sums);
  } else {
    for_each_slice(shape, 1, [&](std::size_t channel, std::size_t first, std::size_t count) {
      sums[channel] += sum_of(values.subspan(first, count));
    });
  }
  sums_.resize(channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    // Whoever looks at the extremes reports what is not finite.
    sums_[channel].add(std::isfinite(sums[channel]) ? sums[channel] : 0);
  }
  elements_ += values.size() / channels;
}

void ChannelSums::merge(const ChannelSums& other) {
  sums_.resize(std::max(sums_.size(), other.sums_.size()));
  for (std::size_t channel = 0; channel < other.sums_.size(); ++channel) {
    sums_[channel].add(other.sums_[channel]);
  }
  elements_ += other.elements_;
}

std::vector<double> ChannelSums::means() const {
  std::vector<double> result;
  result.reserve(sums_.size());
  for (const ExactSum& sum : sums_) {
    result.push_back(sum.value() / static_cast<double>(elements_));
  }
  return result;
}

}  // namespace tare
