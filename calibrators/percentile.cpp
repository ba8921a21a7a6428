// The range that holds a given share of the values; the rest saturates. Asymmetric storage
// loses half of the rest at each end, symmetric storage loses the largest magnitudes.
//
// It knows how many values it cuts off and not how far away they were. (Wu, Judd, Zhang, Isaev
// and Micikevicius, "Integer Quantization for Deep Learning Inference: Principles and Empirical
// Evaluation", 2020, compare it with `max` and entropy.) One pass over the bins.
#include "tare/arithmetic.h"
#include "tare/calibrator.h"
#include "tare/error.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

constexpr auto kHalf = static_cast<std::ptrdiff_t>(TensorStatistics::kBins / 2);

/// Distance from zero beyond which `drop` values lie, going inwards from the far end;
/// `count(i)` is the number of values at a distance between i and i + 1 bin widths. Values are
/// taken as evenly spread inside a bin.
template <class Count>
double cut(const TensorStatistics& observed, double drop, Count count) {
  double beyond = 0;
  for (std::ptrdiff_t i = kHalf - 1; i >= 0; --i) {
    const auto here = static_cast<double>(count(i));
    if (beyond + here > drop) {
      const double inside = 1 - (drop - beyond) / here;
      return (static_cast<double>(i) + inside) * observed.bin_width();
    }
    beyond += here;
  }
  return 0;
}

class Percentile final : public Calibrator {
 public:
  explicit Percentile(double percentile) : percentile_(percentile) {}

  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    const std::vector<std::uint64_t> bins = observed.bins();
    if (bins.empty()) {
      return {observed.low(), observed.high()};
    }
    const auto bin = [&](std::ptrdiff_t i) {
      return bins[static_cast<std::size_t>(i + kHalf)];
    };
    const double drop = (1 - percentile_ / 100) * static_cast<double>(observed.count());
    const auto negative = [&](std::ptrdiff_t i) { return bin(-1 - i); };
    const auto positive = [&](std::ptrdiff_t i) { return bin(i); };
    double low = 0;
    double high = 0;
    if (spec.symmetric) {
      high = cut(observed, drop, [&](std::ptrdiff_t i) { return negative(i) + positive(i); });
      low = -high;
    } else {
      low = -cut(observed, drop / 2, negative);
      high = cut(observed, drop / 2, positive);
    }
    const Range all = range_with_zero(observed);
    return {std::max(low, all.low), std::min(high, all.high)};
  }

 private:
  double percentile_;
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(percentile) {
  using namespace tare;
  return {.name = "percentile",
          .summary = "the range that holds `percentile` per cent of the values (99.99)",
          .options = {"percentile"},
          .make =
              [](const CalibratorOptions& options) {
                const double percentile = options.number("percentile", 99.99);
                if (!(percentile > 0 && percentile <= 100)) {
                  throw Error(ErrorCode::kInvalidConfig, "calibrator 'percentile'",
                              "percentile is " + std::to_string(percentile))
                      .expected("a number above 0 and up to 100");
                }
                return std::make_unique<Percentile>(percentile);
              },
          .clips = true};
}
