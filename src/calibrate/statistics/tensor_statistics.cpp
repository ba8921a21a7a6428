// Statistics of one tensor in one pass, with a histogram whose range need not be known
// beforehand. Bins have a width that is a power of two and start at 0. A value outside makes
// all bins twice as wide, as often as it takes; since edges of wide bins are edges of narrow
// ones too, that merges pairs and moves no count across an edge. So the histogram depends on
// the values alone, and not on their order or on how samples were split among threads and
// files. Sums behind means are exact for the same reason (ExactSum).
//
// Cost: each value is read twice from cache, for extremes and for its bin, once where there is
// no histogram. Memory for each tensor and thread: 4 KiB while there are no more than 1024
// values other than 0, 8 KiB up to 2^16 values, 16 KiB up to 2^32, then 32 KiB.
#include "tare/calibrator.h"
#include "tare/error.h"

#include "calibrate/statistics/nonzero_bins.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <variant>

namespace tare {
namespace {

/// Values whose bins are found before they are counted: that many stay in the first-level
/// cache.
constexpr std::size_t kBlock = 2048;
/// Values whose extremes are looked for before they are counted: those stay in the second.
constexpr std::size_t kPart = 1U << 17U;
/// Non-zero values that are kept as they are: an eighth of the room that bins take.
constexpr std::size_t kFew = 1024;
constexpr auto kHalf = static_cast<std::int32_t>(TensorStatistics::kBins / 2);
/// 2^-kSmallestExponent is still a finite float, and 2^116 * 2048 holds the largest one.
constexpr int kSmallestExponent = -126;
constexpr int kLargestExponent = 117;

struct Overview {
  float low = 0;
  float high = 0;
  bool finite = true;
};

/// Independent lanes make this vector code: a float minimum may not be reordered by the
/// compiler. NaN and infinities show in `finite`.
Overview overview_of(std::span<const float> values) {
  constexpr std::size_t kLanes = 32;
  std::array<float, kLanes> low;
  std::array<float, kLanes> high;
  std::array<std::uint32_t, kLanes> largest{};
  low.fill(values[0]);
  high.fill(values[0]);
  const auto take = [&](std::size_t lane, float x) {
    low[lane] = x < low[lane] ? x : low[lane];
    high[lane] = x > high[lane] ? x : high[lane];
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU;
    largest[lane] = magnitude > largest[lane] ? magnitude : largest[lane];
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
  Overview result{low[0], high[0], true};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result.low = std::min(result.low, low[lane]);
    result.high = std::max(result.high, high[lane]);
    result.finite = result.finite && largest[lane] < 0x7F800000U;
  }
  return result;
}

/// Smallest exponent whose bins hold values of that magnitude.
int exponent_for(float magnitude) {
  int exponent = 0;
  (void)std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  return std::clamp(exponent - std::countr_zero(static_cast<unsigned>(kHalf)),
                    kSmallestExponent, kLargestExponent);
}

/// Calls take(indices) with the bins of some values at a time, which all lie inside, but for
/// zeros, and returns how many those are.
template <class Take>
std::uint64_t find_bins(std::span<const float> values, int exponent, const Take& take) {
  const BinGrid grid{std::ldexp(1.0F, -exponent), kHalf};
  std::array<std::uint16_t, kBlock + kSpareIndices> indices;
  std::uint64_t zeros = values.size();
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const auto block = values.subspan(first, std::min(kBlock, values.size() - first));
    const std::size_t count = nonzero_bins(block, grid, indices.data());
    take(std::span<const std::uint16_t>(indices).first(count));
    zeros -= count;
  }
  return zeros;
}

/// Adds the bins of `values`, which all lie inside, but for zeros, and returns how many those
/// are.
template <class Count>
std::uint64_t count_bins(std::span<const float> values, int exponent,
                         std::vector<Count>& bins) {
  constexpr std::size_t kMany = 4 * TensorStatistics::kBins;
  if (values.size() < kMany) {
    return find_bins(values, exponent, [&](std::span<const std::uint16_t> indices) {
      for (const std::uint16_t index : indices) {
        ++bins[index];
      }
    });
  }
  // Neighbours are often in one bin, and the second count of it waits for the first.
  std::array<std::uint32_t, TensorStatistics::kBins> odd{};
  const auto zeros = find_bins(values, exponent, [&](std::span<const std::uint16_t> indices) {
    for (std::size_t i = 1; i < indices.size(); i += 2) {
      ++bins[indices[i - 1]];
      ++odd[indices[i]];
    }
    if (indices.size() % 2 != 0) {
      ++bins[indices.back()];
    }
  });
  for (std::size_t bin = 0; bin < odd.size(); ++bin) {
    bins[bin] = static_cast<Count>(bins[bin] + odd[bin]);
  }
  return zeros;
}

/// Counts that hold numbers up to `largest`, and what `counts` hold.
template <class Counts>
void make_wide_enough(Counts& counts, std::uint64_t largest) {
  const auto widen = [&]<class Wide>(std::vector<Wide>*) {
    counts = std::visit(
        [](const auto& narrow) { return std::vector<Wide>(narrow.begin(), narrow.end()); },
        counts);
  };
  if (counts.index() < 1 && largest > std::numeric_limits<std::uint16_t>::max()) {
    widen(static_cast<std::vector<std::uint32_t>*>(nullptr));
  }
  if (counts.index() < 2 && largest > std::numeric_limits<std::uint32_t>::max()) {
    widen(static_cast<std::vector<std::uint64_t>*>(nullptr));
  }
}

}  // namespace

TensorStatistics TensorStatistics::without_histogram() {
  TensorStatistics result;
  result.has_histogram_ = false;
  return result;
}

bool TensorStatistics::has_counts() const {
  return std::visit([](const auto& bins) { return !bins.empty(); }, bins_);
}

void TensorStatistics::count_inside(std::span<const float> values) {
  make_wide_enough(bins_, count_);
  zeros_ += std::visit([&](auto& bins) { return count_bins(values, exponent_, bins); }, bins_);
}

int TensorStatistics::exponent() const {
  return few_.empty() ? exponent_ : exponent_for(std::max(-low_, high_));
}

double TensorStatistics::bin_width() const {
  return std::ldexp(1.0, exponent());
}

std::vector<std::uint64_t> TensorStatistics::bins() const {
  if (few_.empty()) {
    return std::visit(
        [](const auto& bins) { return std::vector<std::uint64_t>(bins.begin(), bins.end()); },
        bins_);
  }
  std::vector<std::uint64_t> result(kBins, 0);
  (void)count_bins(few_, exponent(), result);
  return result;
}

double TensorStatistics::mean_low() const {
  return samples_ == 0 ? 0 : lows_.value() / static_cast<double>(samples_);
}

double TensorStatistics::mean_high() const {
  return samples_ == 0 ? 0 : highs_.value() / static_cast<double>(samples_);
}

void TensorStatistics::observe(std::span<const float> sample) {
  MinMax observed;
  for (std::size_t first = 0; first < sample.size(); first += kPart) {
    const MinMax part =
        observe_part(sample.subspan(first, std::min(kPart, sample.size() - first)));
    observed.low = std::min(observed.low, part.low);
    observed.high = std::max(observed.high, part.high);
  }
  count_sample(observed);
}

void TensorStatistics::observe(std::span<const float> sample, MinMax extremes) {
  for (std::size_t first = 0; first < sample.size(); first += kPart) {
    count_finite(sample.subspan(first, std::min(kPart, sample.size() - first)), extremes);
  }
  count_sample(extremes);
}

void TensorStatistics::count_sample(MinMax observed) {
  if (observed.low <= observed.high) {
    ++samples_;
    lows_.add(static_cast<double>(observed.low));
    highs_.add(static_cast<double>(observed.high));
  }
}

MinMax TensorStatistics::observe_part(std::span<const float> values) {
  const Overview observed = overview_of(values);
  if (!observed.finite) {
    std::vector<float> rest;
    rest.reserve(values.size());
    for (const float x : values) {
      nan_ += std::isnan(x) ? 1 : 0;
      infinite_ += std::isinf(x) ? 1 : 0;
      if (std::isfinite(x)) {
        rest.push_back(x);
      }
    }
    return rest.empty() ? MinMax{} : observe_part(rest);
  }
  count_finite(values, {observed.low, observed.high});
  return {observed.low, observed.high};
}

void TensorStatistics::count_finite(std::span<const float> values, MinMax observed) {
  // 0 is added since it makes 0 of -0: which of these two stays would depend on the order.
  low_ = (count_ == 0 ? observed.low : std::min(low_, observed.low)) + 0.0F;
  high_ = (count_ == 0 ? observed.high : std::max(high_, observed.high)) + 0.0F;
  count_ += values.size();
  if (!has_histogram_) {
    return;
  }
  if (observed.low == 0 && observed.high == 0) {
    zeros_ += values.size();
    return;
  }
  if (!has_counts()) {
    const auto zeros = static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0F));
    if (few_.size() + values.size() - zeros <= kFew) {
      std::copy_if(values.begin(), values.end(), std::back_inserter(few_),
                   [](float x) { return x != 0; });
      zeros_ += zeros;
      return;
    }
  }
  count_few();
  hold(exponent_for(std::max(-observed.low, observed.high)));
  count_inside(values);
}

void TensorStatistics::count_few() {
  if (few_.empty()) {
    return;
  }
  const auto [low, high] = std::minmax_element(few_.begin(), few_.end());
  hold(exponent_for(std::max(-*low, *high)));
  // A thread that takes denormal numbers for 0 counts fewer than one that kept them did.
  count_inside(few_);
  few_ = {};
}

void TensorStatistics::hold(int exponent) {
  make_wide_enough(bins_, count_);
  std::visit(
      [&]<class Count>(std::vector<Count>& bins) {
        if (bins.empty()) {
          bins.assign(kBins, 0);
          exponent_ = exponent;
        }
        for (; exponent_ < exponent; ++exponent_) {
          // Pairs are anchored at zero: bin k of the old width lies in bin floor(k / 2) of the
          // new one.
          std::vector<Count> wider(kBins, 0);
          for (std::int32_t bin = -kHalf; bin < kHalf; ++bin) {
            const auto from = static_cast<std::size_t>(bin + kHalf);
            const auto into = static_cast<std::size_t>((bin >> 1) + kHalf);
            wider[into] = static_cast<Count>(wider[into] + bins[from]);
          }
          bins = std::move(wider);
        }
      },
      bins_);
}

TensorStatistics::Fields TensorStatistics::fields() const {
  return {low_,     high_, count_, zeros_,     nan_,  infinite_,
          samples_, lows_, highs_, exponent(), bins()};
}

TensorStatistics TensorStatistics::of(Fields fields) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) {
      throw Error(ErrorCode::kInvalidData, "", what);
    }
  };
  require(std::isfinite(fields.low) && std::isfinite(fields.high) && fields.low <= fields.high,
          "extremes are not in order");
  require(fields.bins.empty() || fields.bins.size() == kBins, "has another number of bins");
  require(fields.exponent >= kSmallestExponent && fields.exponent <= kLargestExponent,
          "bins are wider or narrower than any");
  std::uint64_t counted = fields.zeros;
  bool overflow = false;
  for (const std::uint64_t bin : fields.bins) {
    overflow = __builtin_add_overflow(counted, bin, &counted) || overflow;
  }
  require(!overflow && counted == fields.count, "bins do not add up to the number of values");
  const double reach = std::ldexp(static_cast<double>(kHalf), fields.exponent);
  require(fields.bins.empty() || std::max(-static_cast<double>(fields.low),
                                          static_cast<double>(fields.high)) <= reach,
          "extremes lie outside the bins");
  TensorStatistics result;
  result.low_ = fields.low;
  result.high_ = fields.high;
  result.count_ = fields.count;
  result.zeros_ = fields.zeros;
  result.nan_ = fields.nan;
  result.infinite_ = fields.infinite;
  result.samples_ = fields.samples;
  result.lows_ = fields.lows;
  result.highs_ = fields.highs;
  result.exponent_ = fields.exponent;
  if (!fields.bins.empty()) {
    make_wide_enough(result.bins_, result.count_);
    std::visit([&](auto& bins) { bins.assign(fields.bins.begin(), fields.bins.end()); },
               result.bins_);
  }
  return result;
}

void TensorStatistics::merge(const TensorStatistics& other) {
  if (other.count_ != 0) {
    low_ = count_ == 0 ? other.low_ : std::min(low_, other.low_);
    high_ = count_ == 0 ? other.high_ : std::max(high_, other.high_);
  }
  count_ += other.count_;
  zeros_ += other.zeros_;
  nan_ += other.nan_;
  infinite_ += other.infinite_;
  samples_ += other.samples_;
  lows_.add(other.lows_);
  highs_.add(other.highs_);
  if (!has_counts() && !other.has_counts() && few_.size() + other.few_.size() <= kFew) {
    few_.insert(few_.end(), other.few_.begin(), other.few_.end());
    return;
  }
  if (!other.has_bins()) {
    return;
  }
  count_few();
  hold(other.exponent());
  TensorStatistics same_width = other;
  same_width.count_few();
  same_width.hold(exponent_);
  make_wide_enough(bins_, count_);
  std::visit(
      []<class Count>(std::vector<Count>& bins, const auto& others) {
        std::transform(bins.begin(), bins.end(), others.begin(), bins.begin(),
                       [](auto a, auto b) { return static_cast<Count>(a + b); });
      },
      bins_, same_width.bins_);
}

}  // namespace tare
