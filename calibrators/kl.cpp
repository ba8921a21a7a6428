// The range whose storage values tell most about the distribution of the data: the least
// divergence of Kullback and Leibler between the values as the range leaves them and what the
// storage values alone would let one think (Migacz, "8-bit inference with TensorRT", 2017).
//
// P: the bins inside the range; whatever saturates is added to the bin at that end.
// Q: the bins inside the range without what saturates; the share of every storage value is
// spread evenly over those bins that round to it and are not empty in P.
// Saturation costs since Q lacks it, a wide range costs since unlike bins share storage values.
//
// What is finer than a step of the range that holds nearly all values is noise to any storage
// value: counts are averaged over one such step to either side first. Values that were
// quantized before, and sums of them, lie on grids whose gaps and beats would otherwise pass
// for information. Fewer different values than storage has are taken as they are.
//
// Exact zeros are in neither: every candidate keeps them, and often they are most of the
// values. Steps finer than a bin are no candidates, as nothing can be told about them; storage
// with more values than there are bins therefore keeps the whole observed range.
//
// Cost: sums over all bins once; then each candidate takes one step for each of its storage
// values, and there are up to 1100 candidates (range_search.h).

#include "tare/arithmetic.h"
#include "tare/calibrator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tare {
namespace {

double x_log_x(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

constexpr std::size_t kMiddle = TensorStatistics::kBins / 2;

/// The bins without 1/2000 of the values at each end, widened to hold 0: what is left after
/// outliers, which would make any step look coarse.
Range bulk(const TensorStatistics& observed) {
  const std::vector<std::uint64_t> bins = observed.bins();
  const std::uint64_t values = std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
  const auto without = [&](auto first, auto last) {
    std::uint64_t outside = 0;
    const auto end = std::find_if(first, last, [&](std::uint64_t bin) {
      outside += bin;
      return outside > values / 2000;
    });
    return static_cast<double>(end - first);
  };
  const auto middle = static_cast<double>(kMiddle);
  return {std::min((without(bins.begin(), bins.end()) - middle) * observed.bin_width(), 0.0),
          std::max((middle - without(bins.rbegin(), bins.rend())) * observed.bin_width(), 0.0)};
}

/// How many bins make a step of storage that holds nearly all values; 0 where every bin that
/// holds any can have a storage value of its own.
std::size_t resolution(const TensorStatistics& observed, const QuantSpec& spec) {
  const QuantParams params = to_quant_params({bulk(observed)}, spec);
  const std::vector<std::uint64_t> bins = observed.bins();
  const auto empty = std::count(bins.begin(), bins.end(), std::uint64_t{0});
  const std::int64_t filled = static_cast<std::int64_t>(TensorStatistics::kBins) - empty;
  return filled <= params.range().high - params.range().low
             ? 0
             : static_cast<std::size_t>(static_cast<double>(params.scale[0]) /
                                        observed.bin_width());
}

/// Each bin's count spread evenly over the bins that are at most `reach` away, on the same side
/// of zero and within the observed range.
std::vector<double> smoothed(const TensorStatistics& observed, std::size_t reach) {
  const std::vector<std::uint64_t> bins = observed.bins();
  const auto filled = [](std::uint64_t bin) { return bin != 0; };
  const auto lowest =
      static_cast<std::size_t>(std::find_if(bins.begin(), bins.end(), filled) - bins.begin());
  const auto highest = static_cast<std::size_t>(
      std::find_if(bins.rbegin(), bins.rend(), filled).base() - bins.begin() - 1);
  std::vector<double> result(bins.size());
  for (std::size_t i = lowest; i <= highest; ++i) {
    const std::size_t first =
        std::max(i - std::min(i, reach), i < kMiddle ? lowest : std::max(lowest, kMiddle));
    const std::size_t last =
        std::min(i + reach, i < kMiddle ? std::min(highest, kMiddle - 1) : highest);
    const double each = static_cast<double>(bins[i]) / static_cast<double>(last - first + 1);
    for (std::size_t j = first; j <= last; ++j) {
      result[j] += each;
    }
  }
  return result;
}

/// Sums over the bins below a place, which counts bins from the lowest and may lie inside one.
class Cumulative {
 public:
  void append(double bin) { sums_.push_back(sums_.back() + bin); }
  double until(double place) const {
    const auto bin = std::min(static_cast<std::size_t>(place), TensorStatistics::kBins - 1);
    return sums_[bin] + (place - static_cast<double>(bin)) * at(bin);
  }
  double until(std::size_t bin) const { return sums_[bin]; }
  double at(std::size_t bin) const { return sums_[bin + 1] - sums_[bin]; }

 private:
  std::vector<double> sums_{0};
};

class Divergence {
 public:
  Divergence(const TensorStatistics& observed, const QuantSpec& spec)
      : width_(observed.bin_width()) {
    const std::size_t step = resolution(observed, spec);
    independent_ = 1 / static_cast<double>(2 * step + 1);
    for (const double count : smoothed(observed, step)) {
      values_.append(count);
      filled_.append(count != 0 ? 1 : 0);
      logs_.append(x_log_x(count));
    }
  }

  /// In nats; infinite for what is no candidate.
  double operator()(const Range& range, const QuantParams& params) const {
    const double step = static_cast<double>(params.scale[0]) / width_;
    const std::size_t first = bin(range.low);
    const std::size_t end = bin(range.high) + (range.high > 0 ? 1 : 0);
    const double inside = values_.until(end) - values_.until(first);
    if (step < 1 || inside == 0) {
      return std::numeric_limits<double>::infinity();
    }
    const double below = values_.until(first);
    const double all = values_.until(TensorStatistics::kBins);
    const double above = all - values_.until(end);
    // A share of Q that goes to all bins alike, or one value outside Q would outweigh all
    // others.
    constexpr double kSmoothing = 1e-6;
    const double share = (1 - kSmoothing) / inside;
    const double floor = kSmoothing / static_cast<double>(end - first);

    const auto lowest = static_cast<double>(params.range().low - params.zero_point[0]);
    const auto highest = static_cast<double>(params.range().high - params.zero_point[0]);
    double cross = 0;  // sum of P log Q, times `all`
    double alike = 0;  // bins beyond the first of a storage value
    auto place = static_cast<double>(first);
    const auto last = static_cast<double>(end);
    double n = std::clamp(std::nearbyint((place - kZero) / step), lowest, highest);
    for (double saturated = below; place < last; ++n, saturated = 0) {
      const double next = n == highest ? last : std::min(last, kZero + (n + 0.5) * step);
      const double values = values_.until(next) - values_.until(place);
      double bins = filled_.until(next) - filled_.until(place);
      alike += std::max(0.0, bins - 1);
      // The bin that takes what saturates may be empty otherwise.
      bins += saturated > 0 && values_.at(first) == 0 ? 1 : 0;
      if (next == last && above > 0) {
        saturated += above;
        bins += values_.at(end - 1) == 0 ? 1 : 0;
      }
      if (values + saturated > 0) {
        const double q = values > 0 ? share * values / bins : 0;
        cross += (values + saturated) * std::log(q + floor);
      }
      place = next;
    }
    // Of few values no two bins hold as many, which looks like information. The expected excess
    // is half a nat for each bin that is taken to be like another, over the number of values
    // (Miller, "Note on the bias of information estimates", 1955). Averages share values.
    const double noise = alike * independent_ / 2;
    const double nats =
        (count_logs(first, end, below, above) - cross - noise) / all - std::log(all);
    constexpr double kRounding = 1e-9;  // of sums over thousands of bins
    return std::nearbyint(nats / kRounding) * kRounding;
  }

 private:
  static constexpr auto kZero = static_cast<double>(kMiddle);

  std::size_t bin(double x) const {
    return static_cast<std::size_t>(std::floor(x / width_) + kZero);
  }

  /// Sum of count * log(count) over the bins of P.
  double count_logs(std::size_t first, std::size_t end, double below, double above) const {
    if (end == first + 1) {
      return x_log_x(below + values_.at(first) + above);
    }
    return x_log_x(below + values_.at(first)) + logs_.until(end - 1) - logs_.until(first + 1) +
           x_log_x(values_.at(end - 1) + above);
  }

  double width_;
  double independent_ = 1;  // share of the bins whose averages have no value in common
  Cumulative values_;
  Cumulative filled_;  // bins that hold any
  Cumulative logs_;    // count * log(count)
};

class Kl final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    // Finer than for errors: the divergence depends on which bins share a storage value, so it
    // jumps from one step to the next.
    constexpr int kStepsPerOctave = 32;
    if (!observed.has_bins()) {
      return range_with_zero(observed);
    }
    const Divergence divergence(observed, spec);
    return least_cost_range(observed, spec, kStepsPerOctave, [&](const Range& range) {
      return divergence(range, to_quant_params({range}, spec));
    });
  }
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(kl) {
  using namespace tare;
  return {.name = "kl",
          .summary = "the range with the least Kullback-Leibler divergence from the data",
          .options = {},
          .make = [](const CalibratorOptions&) { return std::make_unique<Kl>(); },
          .clips = true};
}
