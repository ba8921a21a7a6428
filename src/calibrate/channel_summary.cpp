#include "tare/error.h"
#include "tare/statistics.h"

#include "graph/per_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// Extremes and sums of the channels of one tensor.
struct Channels {
  explicit Channels(std::size_t count)
      : lows(count, std::numeric_limits<float>::infinity()),
        highs(count, -std::numeric_limits<float>::infinity()),
        sums(count) {}

  std::vector<float> lows;
  std::vector<float> highs;
  std::vector<double> sums;
};

/// Rows of one value per channel. Floats hold the sum of a few rows, since twice as many of
/// them are added at a time as doubles.
void observe_rows(std::span<const float> values, Channels& channels) {
  constexpr std::size_t kRows = 32;
  const std::size_t width = channels.sums.size();
  std::vector<float> partial(width);
  float* const low = channels.lows.data();
  float* const high = channels.highs.data();
  float* const sum = partial.data();
  for (std::size_t first = 0; first < values.size(); first += kRows * width) {
    const std::size_t last = std::min(values.size(), first + kRows * width);
    std::fill(partial.begin(), partial.end(), 0.0F);
    for (std::size_t row = first; row < last; row += width) {
      const float* const x = values.data() + row;
      for (std::size_t i = 0; i < width; ++i) {
        low[i] = x[i] < low[i] ? x[i] : low[i];
        high[i] = x[i] > high[i] ? x[i] : high[i];
        sum[i] += x[i];
      }
    }
    for (std::size_t i = 0; i < width; ++i) {
      channels.sums[i] += static_cast<double>(sum[i]);
    }
  }
}

/// One channel. Independent lanes, because the compiler may not reorder one sum or minimum into
/// vector code.
void observe_run(std::span<const float> values, float& low, float& high, double& sum) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> lows;
  std::array<float, kLanes> highs;
  std::array<double, kLanes> sums{};
  lows.fill(low);
  highs.fill(high);
  const auto take = [&](std::size_t lane, float x) {
    lows[lane] = x < lows[lane] ? x : lows[lane];
    highs[lane] = x > highs[lane] ? x : highs[lane];
    sums[lane] += static_cast<double>(x);
  };
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      take(lane, values[i + lane]);
    }
  }
  for (; i < values.size(); ++i) {
    take(0, values[i]);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    low = std::min(low, lows[lane]);
    high = std::max(high, highs[lane]);
    sum += sums[lane];
  }
}

}  // namespace

void ChannelSummary::observe(const TensorView& view) {
  const Shape& shape = view.type->shape;
  const auto count = static_cast<std::size_t>(shape.at(1));
  const auto values = view.elements<float>();
  if (values.empty()) {
    return;
  }
  Channels seen(count);
  if (view.channels_last || values.size() == count * static_cast<std::size_t>(shape[0])) {
    observe_rows(values, seen);
  } else {
    for_each_slice(shape, 1, [&](std::size_t c, std::size_t first, std::size_t size) {
      observe_run(values.subspan(first, size), seen.lows[c], seen.highs[c], seen.sums[c]);
    });
  }
  std::vector<ExactSum> sums(count);
  for (std::size_t c = 0; c < count; ++c) {
    // Whoever looks at the tensor as a whole reports what is not finite.
    sums[c].add(std::isfinite(seen.sums[c]) ? seen.sums[c] : 0);
  }
  merge(
      of(values.size() / count, std::move(seen.lows), std::move(seen.highs), std::move(sums)));
}

void ChannelSummary::merge(const ChannelSummary& other) {
  if (other.channels() == 0) {
    return;
  }
  if (channels() == 0) {
    *this = other;
    return;
  }
  if (channels() != other.channels()) {
    throw Error(ErrorCode::kInvalidData, "",
                "has " + std::to_string(other.channels()) + " channels")
        .expected(std::to_string(channels()) + " as before");
  }
  elements_ += other.elements_;
  for (std::size_t c = 0; c < channels(); ++c) {
    lows_[c] = std::min(lows_[c], other.lows_[c]);
    highs_[c] = std::max(highs_[c], other.highs_[c]);
    sums_[c].add(other.sums_[c]);
  }
}

std::vector<double> ChannelSummary::means() const {
  std::vector<double> result;
  result.reserve(sums_.size());
  for (const ExactSum& sum : sums_) {
    result.push_back(sum.value() / static_cast<double>(elements_));
  }
  return result;
}

ChannelSummary ChannelSummary::of(std::uint64_t elements, std::vector<float> lows,
                                  std::vector<float> highs, std::vector<ExactSum> sums) {
  if (lows.size() != sums.size() || highs.size() != sums.size()) {
    throw Error(ErrorCode::kInvalidData, "", "counts of channels differ");
  }
  ChannelSummary result;
  result.elements_ = elements;
  result.lows_ = std::move(lows);
  result.highs_ = std::move(highs);
  result.sums_ = std::move(sums);
  return result;
}

}  // namespace tare
