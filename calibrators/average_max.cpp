// The mean over samples of each sample's extremes: one unusual sample moves the range by its
// share of the samples only.
#include "tare/calibrator.h"

namespace tare {
namespace {

class AverageMax final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec&) const override {
    return {observed.mean_low(), observed.mean_high()};
  }
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(average_max) {
  using namespace tare;
  return {.name = "average_max",
          .summary = "the mean over samples of the smallest and largest value of each",
          .options = {},
          .make = [](const CalibratorOptions&) { return std::make_unique<AverageMax>(); },
          .clips = true};
}
