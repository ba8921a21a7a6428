// Minimum, maximum and sums of each channel. Within one tensor sums are plain ones in a fixed
// order, in vector code; only the sum of each tensor goes into an exact one, which is slow and
// makes the order of tensors irrelevant. Cost: one pass over the values, and a long addition
// for each channel and tensor. Memory: 72 bytes for each channel.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/statistics.h"

#include "graph/arithmetic/per_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// Minimum, maximum and sums of the channels of one tensor.
struct Channels {
  explicit Channels(std::size_t count)
      : lows(count, std::numeric_limits<float>::infinity()),
        highs(count, -std::numeric_limits<float>::infinity()),
        sums(count) {}

  std::vector<float> lows;
  std::vector<float> highs;
  std::vector<double> sums;
};

// Single instructions, unlike std::min and std::max, which promise which of two equals wins.
float smaller(float a, float b) {
  return b < a ? b : a;
}
float larger(float a, float b) {
  return b > a ? b : a;
}

/// Adds one value to each of `width` channels. Nothing overlaps, which the compiler must know
/// to make vector code.
void add_row(const float* __restrict x, std::size_t width, float* __restrict low,
             float* __restrict high, float* __restrict sum) {
  for (std::size_t i = 0; i < width; ++i) {
    low[i] = smaller(low[i], x[i]);
    high[i] = larger(high[i], x[i]);
    sum[i] += x[i];
  }
}

/// The same with four values each, so that the accumulators are not loaded and stored for each.
void add_four_rows(const float* __restrict x, std::size_t width, float* __restrict low,
                   float* __restrict high, float* __restrict sum) {
  for (std::size_t i = 0; i < width; ++i) {
    const float a = x[i];
    const float b = x[i + width];
    const float c = x[i + 2 * width];
    const float d = x[i + 3 * width];
    low[i] = smaller(low[i], smaller(smaller(a, b), smaller(c, d)));
    high[i] = larger(high[i], larger(larger(a, b), larger(c, d)));
    sum[i] += (a + b) + (c + d);
  }
}

/// Rows of one value per channel. Floats hold the sum of a few rows, since twice as many of
/// them are added at a time as doubles.
void observe_rows(std::span<const float> values, Channels& channels) {
  constexpr std::size_t kRows = 32;  // more rows to a float would lose digits of long sums
  const std::size_t width = channels.sums.size();
  std::vector<float> partial(width);
  float* const low = channels.lows.data();
  float* const high = channels.highs.data();
  for (std::size_t first = 0; first < values.size(); first += kRows * width) {
    const std::size_t last = std::min(values.size(), first + kRows * width);
    std::fill(partial.begin(), partial.end(), 0.0F);
    std::size_t row = first;
    for (; row + 4 * width <= last; row += 4 * width) {
      add_four_rows(values.data() + row, width, low, high, partial.data());
    }
    for (; row < last; row += width) {
      add_row(values.data() + row, width, low, high, partial.data());
    }
    for (std::size_t i = 0; i < width; ++i) {
      channels.sums[i] += static_cast<double>(partial[i]);
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
    lows[lane] = smaller(lows[lane], x);
    highs[lane] = larger(highs[lane], x);
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

std::optional<MinMax> ChannelStatistics::observe(const TensorView& view) {
  const Shape& shape = view.type->shape;
  const auto count = static_cast<std::size_t>(shape.at(1));
  const auto values = view.elements<float>();
  if (values.empty()) {
    return std::nullopt;
  }
  Channels observed(count);
  if (view.channels_last || values.size() == count * static_cast<std::size_t>(shape[0])) {
    observe_rows(values, observed);
  } else {
    for_each_slice(shape, 1, [&](std::size_t c, std::size_t first, std::size_t size) {
      observe_run(values.subspan(first, size), observed.lows[c], observed.highs[c],
                  observed.sums[c]);
    });
  }
  const MinMax extremes{*std::min_element(observed.lows.begin(), observed.lows.end()),
                        *std::max_element(observed.highs.begin(), observed.highs.end())};
  if (channels() == 0) {
    *this = of(0, observed.lows, observed.highs, std::vector<ExactSum>(count));
  }
  require_channels(count);
  elements_ += values.size() / count;
  bool finite = true;
  for (std::size_t c = 0; c < count; ++c) {
    // Whoever looks at the tensor as a whole reports what is not finite.
    const bool is_number = std::isfinite(observed.sums[c]);
    finite = finite && is_number;
    sums_[c].add(is_number ? observed.sums[c] : 0);
    // 0 makes 0 of -0: which of these two stays would depend on the order.
    lows_[c] = std::min(lows_[c], observed.lows[c]) + 0.0F;
    highs_[c] = std::max(highs_[c], observed.highs[c]) + 0.0F;
  }
  return finite ? std::optional(extremes) : std::nullopt;
}

void ChannelStatistics::merge(const ChannelStatistics& other) {
  if (other.channels() == 0) {
    return;
  }
  if (channels() == 0) {
    *this = other;
    return;
  }
  require_channels(other.channels());
  elements_ += other.elements_;
  for (std::size_t c = 0; c < channels(); ++c) {
    lows_[c] = std::min(lows_[c], other.lows_[c]);
    highs_[c] = std::max(highs_[c], other.highs_[c]);
    sums_[c].add(other.sums_[c]);
  }
}

void ChannelStatistics::require_channels(std::size_t count) const {
  if (channels() != count) {
    throw Error(ErrorCode::kInvalidData, "", "has " + std::to_string(count) + " channels")
        .expected(std::to_string(channels()) + " as before");
  }
}

std::vector<double> ChannelStatistics::means() const {
  std::vector<double> result;
  result.reserve(sums_.size());
  for (const ExactSum& sum : sums_) {
    result.push_back(sum.value() / static_cast<double>(elements_));
  }
  return result;
}

ChannelStatistics ChannelStatistics::of(std::uint64_t elements, std::vector<float> lows,
                                        std::vector<float> highs, std::vector<ExactSum> sums) {
  if (lows.size() != sums.size() || highs.size() != sums.size()) {
    throw Error(ErrorCode::kInvalidData, "", "counts of channels differ");
  }
  ChannelStatistics result;
  result.elements_ = elements;
  result.lows_ = std::move(lows);
  result.highs_ = std::move(highs);
  result.sums_ = std::move(sums);
  return result;
}

}  // namespace tare
