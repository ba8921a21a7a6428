// The whole observed range: nothing saturates, outliers cost resolution.
#include "tare/calibrator.h"

namespace tare {
namespace {

class Max final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec&) const override {
    return {observed.low(), observed.high()};
  }
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(max) {
  using namespace tare;
  return {.name = "max",
          .summary = "the smallest and largest observed value",
          .options = {},
          .make = [](const CalibratorOptions&) { return std::make_unique<Max>(); },
          .keeps_all = true,
          .takes_extremes = true};
}
