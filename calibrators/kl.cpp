// The range whose storage values tell most about the distribution of the data: the least
// divergence of Kullback and Leibler between the values as the range leaves them and what the
// storage values alone would let one think (Migacz, "8-bit inference with TensorRT", 2017).
//
// P: the bins inside the range; whatever saturates is added to the bin at that end.
// Q: the bins inside the range without what saturates; the share of every storage value is
// spread evenly over those bins that round to it and are not empty in P.
// Saturation costs since Q lacks it, a wide range costs since unlike bins share storage values.
//
// Exact zeros are in neither: every candidate keeps them, and often they are most of the
// values. Steps finer than a bin are no candidates, as nothing can be told about them; storage
// with more values than there are bins therefore keeps all that was seen.
#include "tare/bins.h"
#include "tare/range_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

double x_log_x(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

/// Sums over the bins below a place, which counts bins from the lowest and may lie inside one.
class Cumulative {
 public:
  void append(double bin) { sums_.push_back(sums_.back() + bin); }
  double until(double place) const {
    const auto bin = std::min(static_cast<std::size_t>(place), Summary::kBins - 1);
    return sums_[bin] + (place - static_cast<double>(bin)) * at(bin);
  }
  double until(std::size_t bin) const { return sums_[bin]; }
  double at(std::size_t bin) const { return sums_[bin + 1] - sums_[bin]; }

 private:
  std::vector<double> sums_{0};
};

class Divergence {
 public:
  explicit Divergence(const Summary& seen) : width_(seen.bin_width()) {
    for (const std::uint64_t bin : seen.bins()) {
      const auto count = static_cast<double>(bin);
      values_.append(count);
      filled_.append(bin != 0 ? 1 : 0);
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
    const double all = values_.until(Summary::kBins);
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
    // (Miller, "Note on the bias of information estimates", 1955).
    const double noise = alike / 2;
    const double nats =
        (count_logs(first, end, below, above) - cross - noise) / all - std::log(all);
    constexpr double kRounding = 1e-9;  // of sums over thousands of bins
    return std::nearbyint(nats / kRounding) * kRounding;
  }

 private:
  static constexpr double kZero = Summary::kBins / 2.0;

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
  Cumulative values_;
  Cumulative filled_;  // bins that hold any
  Cumulative logs_;    // count * log(count)
};

class Kl final : public Calibrator {
 public:
  Range choose(const Summary& seen, const QuantSpec& spec) const override {
    constexpr int kStepsPerOctave = 32;
    const Divergence divergence(seen);
    return least_cost_range(seen, spec, kStepsPerOctave, [&](const Range& range) {
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
          .make = [](const CalibratorOptions&) { return std::make_unique<Kl>(); }};
}
