// Clips where a Laplace or a normal distribution with the moments of the data would be clipped
// at least squared error (Banner, Nahshan, Hoffer and Soudry, "Post training 4-bit quantization
// of convolutional networks for rapid-deployment", 2019; known as ACIQ).
//
// With L storage values over [-a, a], rounding costs a^2 / (3 L^2), and saturation costs both
// tails beyond a. Where the derivative of the sum is zero, x = a / b of a Laplace distribution
// with mean distance b from its centre, and x = a / sigma of a normal one, satisfy
//     x / (3 L^2) = exp(-x)
//     x / (3 L^2) = sqrt(2 / pi) exp(-x^2 / 2) - x erfc(x / sqrt(2))
// Data with one side only is what a ReLU left of a distribution around zero: half the tails,
// and L storage values for the one half, as good as 2 L for both.
//
// It needs the count, mean and spread of the data and no search along its histogram: a pass
// over the bins, and 64 halvings for the root.

#include "tare/arithmetic.h"
#include "tare/calibrator.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tare {
namespace {

/// Where `excess`, which is negative at 0 and then rises, is zero.
template <class F>
double zero_of(F excess) {
  double low = 0;
  double high = 64;  // beyond the answer for 2^33 storage values
  for (int bit = 0; bit < 64; ++bit) {
    const double middle = (low + high) / 2;
    (excess(middle) < 0 ? low : high) = middle;
  }
  return high;
}

double laplace_clip(double levels) {
  return zero_of([&](double x) { return x / (3 * levels * levels) - std::exp(-x); });
}

double normal_clip(double levels) {
  return zero_of([&](double x) {
    const double beyond = std::sqrt(2 / std::numbers::pi) * std::exp(-x * x / 2) -
                          x * std::erfc(x / std::numbers::sqrt2);
    return x / (3 * levels * levels) - beyond;
  });
}

/// Moments of the values around a centre.
struct Spread {
  double distance = 0;   ///< mean absolute
  double deviation = 0;  ///< root of the mean square
};

class Moments {
 public:
  /// `zeros`: how many values beside those in the segments are 0.
  Moments(std::vector<HistogramSegment> parts, std::uint64_t zeros)
      : parts_(std::move(parts)), zeros_(static_cast<double>(zeros)) {
    count_ = zeros_;
    for (const HistogramSegment& part : parts_) {
      count_ += static_cast<double>(part.count);
    }
  }

  double mean() const {
    double sum = 0;
    for (const HistogramSegment& part : parts_) {
      sum += part.middle() * static_cast<double>(part.count);
    }
    return sum / count_;
  }

  Spread around(double centre) const {
    double distances = zeros_ * std::abs(centre);
    double squares = zeros_ * centre * centre;
    for (const HistogramSegment& part : parts_) {
      const double off = part.middle() - centre;
      const auto count = static_cast<double>(part.count);
      distances += std::abs(off) * count;
      squares += (off * off + part.width() * part.width() / 12) * count;
    }
    return {distances / count_, std::sqrt(squares / count_)};
  }

 private:
  std::vector<HistogramSegment> parts_;
  double zeros_;
  double count_ = 0;
};

class Aciq final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    if (observed.count() == observed.zeros()) {
      return {};
    }
    const StorageRange storage = storage_range(spec.storage, spec.narrow_range);
    auto levels = static_cast<double>(storage.high - storage.low + 1);
    const bool one_sided = observed.low() >= 0 || observed.high() <= 0;
    if (one_sided && !spec.symmetric) {
      levels *= 2;
    }
    // Zeros of one-sided data are the other side.
    const Moments moments(histogram_segments(observed), one_sided ? 0 : observed.zeros());
    const double centre = one_sided || spec.symmetric ? 0 : moments.mean();
    const Spread spread = moments.around(centre);
    // The logarithm of the likelihood of a value is -log(2 e b) on average under the Laplace
    // distribution that fits best, and -log(sqrt(2 pi e) sigma) under the normal one.
    const bool is_laplace =
        2 * std::numbers::e * spread.distance <
        std::sqrt(2 * std::numbers::pi * std::numbers::e) * spread.deviation;
    const double reach = is_laplace ? laplace_clip(levels) * spread.distance
                                    : normal_clip(levels) * spread.deviation;
    return {std::clamp(centre - reach, observed.low(), observed.high()),
            std::clamp(centre + reach, observed.low(), observed.high())};
  }
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(aciq) {
  using namespace tare;
  return {.name = "aciq",
          .summary =
              "the clipping range of least error for the Laplace or normal distribution that "
              "fits best",
          .options = {},
          .make = [](const CalibratorOptions&) { return std::make_unique<Aciq>(); },
          .clips = true};
}
