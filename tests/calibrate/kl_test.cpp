#include "calibrate/calibrator_support.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// The divergence as calibrators/kl.cpp defines it, one bin and one storage value after the
/// other. Counts the values itself.
class Reference {
 public:
  Reference(const std::vector<float>& values, const QuantSpec& spec)
      : spec_(spec),
        width_(statistics_of(values).bin_width()),
        bins_(TensorStatistics::kBins, 0) {
    const TensorStatistics observed = statistics_of(values);
    std::vector<double> places;
    for (const float x : values) {
      if (x != 0) {
        places.push_back(std::floor(static_cast<double>(x) / width_));
      }
    }
    std::sort(places.begin(), places.end());
    const std::size_t rare = places.size() / 2000;
    const QuantParams fine =
        to_quant_params({{std::min(places[rare], 0.0) * width_,
                          std::max(places[places.size() - 1 - rare] + 1, 0.0) * width_}},
                        spec);
    if (std::set(places.begin(), places.end()).size() > 255) {
      reach_ = std::floor(static_cast<double>(fine.scale[0]) / width_);
    }
    for (const float x : values) {
      if (x != 0) {
        average(static_cast<double>(x), observed);
        ++count_;
      }
    }
  }

  double divergence(const Range& range) const {
    const QuantSpec& spec = spec_;
    const QuantParams params = to_quant_params({range}, spec);
    const double step = static_cast<double>(params.scale[0]);
    if (step < width_) {
      return std::numeric_limits<double>::infinity();
    }
    const std::size_t first = index(range.low);
    const std::size_t last = index(range.high) - (range.high > 0 ? 0 : 1);
    std::vector<double> p(bins_.begin(), bins_.end());
    double inside = 0;
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
      inside += bin >= first && bin <= last ? bins_[bin] : 0;
      p[first] += bin < first ? bins_[bin] : 0;
      p[last] += bin > last ? bins_[bin] : 0;
    }
    if (inside == 0) {
      return std::numeric_limits<double>::infinity();
    }
    double result = 0;
    double alike = 0;
    for (std::size_t bin = first; bin <= last; ++bin) {
      result += p[bin] > 0 ? p[bin] / count_ * std::log(p[bin] / count_) : 0;
    }
    const StorageRange storage = params.range();
    for (std::int64_t q = storage.low; q <= storage.high; ++q) {
      const auto n = static_cast<double>(q - params.zero_point[0]);
      const double low = q == storage.low ? -1e300 : (n - 0.5) * step;
      const double high = q == storage.high ? 1e300 : (n + 0.5) * step;
      // What of each bin rounds to q, and how much of the bin that is.
      double share = 0;
      double spread = 0;
      double saturated = 0;
      double joining = 0;
      for (std::size_t bin = first; bin <= last; ++bin) {
        const double from = (static_cast<double>(bin) - 2048) * width_;
        const double part =
            std::min(high, from + width_) / width_ - std::max(low, from) / width_;
        if (part <= 0) {
          continue;
        }
        share += bins_[bin] * part;
        spread += bins_[bin] > 0 ? part : 0;
        // Storage values at the ends also stand for what saturates there, which is in the last
        // bin, whether or not that holds anything else.
        const bool takes_low = bin == first && low <= from;
        const bool takes_high = bin == last && high >= from + width_;
        if ((takes_low || takes_high) && p[bin] > bins_[bin]) {
          saturated += p[bin] - bins_[bin];
          joining += bins_[bin] == 0 ? 1 : 0;
        }
      }
      if (share + saturated > 0) {
        const double even = 1e-6 / static_cast<double>(last - first + 1);
        const double density = share > 0 ? (1 - 1e-6) * share / (spread + joining) / inside : 0;
        result -= (share + saturated) / count_ * std::log(density + even);
        alike += std::max(0.0, spread - 1);
      }
    }
    return result - alike / (2 * reach_ + 1) / 2 / count_;
  }

 private:
  /// Counts a value in equal parts in the bins around it on its side of zero, as far as any
  /// value was observed. The highest value may lie on the edge of the next bin.
  void average(double x, const TensorStatistics& observed) {
    const auto place = [this](double value) { return std::floor(value / width_); };
    const double low =
        std::max(place(x) - reach_, std::max(place(observed.low()), x < 0 ? -1e9 : 0));
    const double high =
        std::min(place(x) + reach_, std::min(place(observed.high()), x < 0 ? -1 : 1e9));
    for (double bin = low; bin <= high; ++bin) {
      bins_[static_cast<std::size_t>(bin + 2048)] += 1 / (high - low + 1);
    }
  }
  std::size_t index(double x) const {
    return static_cast<std::size_t>(std::floor(x / width_) + 2048);
  }

  QuantSpec spec_;
  double width_;
  double reach_ = 0;
  std::vector<double> bins_;
  double count_ = 0;
};

Range chosen(const std::vector<float>& values, const QuantSpec& spec) {
  return make_calibrator("kl")->choose(statistics_of(values), spec);
}

TEST(Kl, DivergesLessThanAnyRangeWithBothEndsAtOneDistance) {
  const std::vector<float> normal = normal_values(50000);
  for (const auto& values : {normal, without_negative(normal), with(normal, {-12, 40, 41}),
                             laplace_values(50000), even_values(50000, -3, 1)}) {
    const TensorStatistics observed = statistics_of(values);
    const double reach = std::max(-observed.low(), observed.high());
    for (const QuantSpec& spec : {kAsymmetric, kSymmetric}) {
      const Reference reference(values, spec);
      const Range range = chosen(values, spec);
      const double ours = reference.divergence(range);
      // The places that the search promises to look at.
      for (double distance = reach; distance > 100 * observed.bin_width();
           distance *= std::exp2(-1.0 / 32)) {
        const Range other{std::max(-distance, std::min(observed.low(), 0.0)),
                          std::min(distance, std::max(observed.high(), 0.0))};
        // Divergences are rounded to 1e-9.
        EXPECT_LE(ours, reference.divergence(other) + 1e-8) << distance;
      }
    }
  }
}

TEST(Kl, ClipsFarOutliers) {
  const std::vector<float> values =
      with(normal_values(100000, 0, 1), {-100, 95, 98, 100, 100, 100});
  for (const QuantSpec& spec : specs()) {
    const Range range = chosen(values, spec);
    // The least power of two that holds 4 on both sides reaches over 16, so 12 on one.
    const double far = spec.power_of_two ? 12 : 10;
    EXPECT_LT(range.high, far);
    EXPECT_GT(range.high, 4);
    EXPECT_GT(range.low, -far);
    EXPECT_LT(range.low, -4);
  }
}

TEST(Kl, CutsLessThanAStepOfEvenlySpreadValues) {
  // A part of a step can be worth it, when the zero point then needs less rounding.
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 3);
  std::vector<float> noisy(100000);
  std::generate(noisy.begin(), noisy.end(), [&] { return uniform(random); });
  for (const auto& values : {noisy, even_values(100000, -1, 3), even_values(100000, 0, 7)}) {
    const TensorStatistics observed = statistics_of(values);
    for (const QuantSpec& spec : specs()) {
      const Range range = chosen(values, spec);
      const double step = (observed.high() - observed.low()) / 255;
      EXPECT_NEAR(range.high, observed.high(), step);
      EXPECT_NEAR(range.low, observed.low(), step);
    }
  }
}

TEST(Kl, IsNotMisledByTheNoiseOfFewValues) {
  // With as many values as bins, what their counts say is mostly chance. Taken for information
  // it makes narrow ranges look good: a per cent of these values would saturate.
  std::vector<float> values = normal_values(2000);
  for (const QuantSpec& spec : specs()) {
    const Range range = chosen(values, spec);
    const auto saturated = std::count_if(values.begin(), values.end(), [&](float x) {
      return static_cast<double>(x) < range.low || static_cast<double>(x) > range.high;
    });
    EXPECT_LE(saturated, 2);
  }
}

TEST(Kl, KeepsAllOfFewValuesThatAllDiffer) {
  for (const auto& values : {std::vector<float>{-0.1F, 0.7F}, {1e-30F, -1e30F, 1e30F}}) {
    const TensorStatistics observed = statistics_of(values);
    for (const QuantSpec& spec : specs()) {
      EXPECT_EQ(chosen(values, spec), (Range{observed.low(), observed.high()}));
    }
  }
}

TEST(Kl, TakesNoInformationFromTheBeatsOfTwoGrids) {
  // What a residual connection adds up after quantization. The same values before it keep
  // nearly all of their range; the counts of single bins of the sum vary tenfold.
  const std::vector<float> a = normal_values(200000, 0, 1);
  std::vector<float> b = a;
  std::shuffle(b.begin(), b.end(), std::mt19937(5));
  std::vector<float> exact(a.size());
  std::vector<float> sums(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    exact[i] = a[i] + b[i];
    sums[i] = std::rint(a[i] / 0.031F) * 0.031F + std::rint(b[i] / 0.037F) * 0.037F;
  }
  for (const QuantSpec& spec : specs()) {
    EXPECT_GT(chosen(sums, spec).high, 0.8 * chosen(exact, spec).high);
  }
}

TEST(Kl, DoesNotDependOnZeros) {
  const std::vector<float> values = without_negative(laplace_values(10000));
  const std::vector<float> sparse = with(values, std::vector<float>(1000000, 0.0F));
  for (const QuantSpec& spec : specs()) {
    EXPECT_EQ(chosen(sparse, spec), chosen(values, spec));
  }
}

TEST(Kl, KeepsAllWhereStorageIsFinerThanBins) {
  const std::vector<float> values = with(normal_values(100000, 0, 1), {-100, 100});
  EXPECT_EQ(chosen(values, {.storage = DType::kInt16, .symmetric = true}), (Range{-100, 100}));
  EXPECT_EQ(chosen(values, {.storage = DType::kUint16}), (Range{-100, 100}));
}

TEST(Kl, UsesAllStorageValuesForOneSide) {
  // With 255 steps instead of 127 for the same side, the wide range costs less: less is cut.
  const std::vector<float> values = without_negative(laplace_values(1000000));
  EXPECT_GT(chosen(values, kAsymmetric).high, chosen(values, kSymmetric).high);
}

}  // namespace
}  // namespace tare::test
