// A calibrator of somebody else: half of what was observed.
#include <tare/calibrator.h>

namespace {

class HalfOfMax final : public tare::Calibrator {
 public:
  tare::Range choose(const tare::TensorStatistics& observed,
                     const tare::QuantSpec&) const override {
    return {observed.low() / 2, observed.high() / 2};
  }
};

}  // namespace

TARE_CALIBRATOR(half_of_max) {
  return {.name = "half_of_max",
          .summary = "half of what was observed",
          .options = {},
          .make = [](const tare::CalibratorOptions&) { return std::make_unique<HalfOfMax>(); }};
}
