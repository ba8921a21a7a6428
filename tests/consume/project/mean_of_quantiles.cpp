// A calibrator that looks at the values themselves: the mean over the samples of what one in a
// hundred values of each exceeds. Statistics of all samples do not tell that.
#include <algorithm>
#include <vector>

#include <tare/calibrator.h>

namespace {

class Quantiles final : public tare::Observer {
 public:
  void observe(std::span<const float> sample) override {
    std::vector<float> values(sample.begin(), sample.end());
    const std::size_t rare = values.size() / 100;
    std::sort(values.begin(), values.end());
    lows_.add(static_cast<double>(values[rare]));
    highs_.add(static_cast<double>(values[values.size() - 1 - rare]));
    ++samples_;
  }
  void merge(const tare::Observer& other) override {
    const auto& more = static_cast<const Quantiles&>(other);
    lows_.add(more.lows_);
    highs_.add(more.highs_);
    samples_ += more.samples_;
  }
  tare::Range choose(const tare::TensorStatistics&, const tare::QuantSpec&) const override {
    const double samples = samples_ == 0 ? 1 : static_cast<double>(samples_);
    return {lows_.value() / samples, highs_.value() / samples};
  }

 private:
  // Sums that do not depend on the order of the samples.
  tare::ExactSum lows_;
  tare::ExactSum highs_;
  std::uint64_t samples_ = 0;
};

class MeanOfQuantiles final : public tare::Calibrator {
 public:
  std::unique_ptr<tare::Observer> observer() const override {
    return std::make_unique<Quantiles>();
  }
  tare::Range choose(const tare::TensorStatistics&, const tare::QuantSpec&) const override {
    return {};
  }
};

}  // namespace

TARE_CALIBRATOR(mean_of_quantiles) {
  return {.name = "mean_of_quantiles",
          .summary = "the mean over the samples of what one value in a hundred exceeds",
          .options = {},
          .make = [](const tare::CalibratorOptions&) {
            return std::make_unique<MeanOfQuantiles>();
          }};
}
