// The whole range that was seen: nothing saturates, outliers cost resolution.
#include "tare/calibrator.h"

namespace tare {
namespace {

class Max final : public Calibrator {
 public:
  Range choose(const Summary& seen, const QuantSpec&) const override {
    return {seen.low(), seen.high()};
  }
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(max) {
  using namespace tare;
  return {.name = "max",
          .summary = "the smallest and largest value seen",
          .options = {},
          .make = [](const CalibratorOptions&) { return std::make_unique<Max>(); }};
}
