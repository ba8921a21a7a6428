// A share of the observed range.
#include "tare/calibrator.h"
#include "tare/error.h"

namespace tare {
namespace {

class PercentOfMax final : public Calibrator {
 public:
  explicit PercentOfMax(double percent) : share_(percent / 100) {}

  Range choose(const TensorStatistics& observed, const QuantSpec&) const override {
    return {observed.low() * share_, observed.high() * share_};
  }

 private:
  double share_;
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(percent_of_max) {
  using namespace tare;
  return {.name = "percent_of_max",
          .summary = "`percent` per cent of the smallest and largest observed value (99)",
          .options = {"percent"},
          .make =
              [](const CalibratorOptions& options) {
                const double percent = options.number("percent", 99);
                if (!(percent > 0 && percent <= 100)) {
                  throw Error(ErrorCode::kInvalidConfig, "calibrator 'percent_of_max'",
                              "percent is " + std::to_string(percent))
                      .expected("a number above 0 and up to 100");
                }
                return std::make_unique<PercentOfMax>(percent);
              },
          .clips = true};
}
