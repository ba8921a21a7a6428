// The range with the least expected squared error of quantizing and expressing a value again.
#include "tare/expected_error.h"
#include "tare/range_search.h"

namespace tare {
namespace {

class Mse final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    constexpr int kStepsPerOctave = 8;
    const ExpectedError error(observed);
    return least_cost_range(observed, spec, kStepsPerOctave, [&](const Range& range) {
      return error.sum_of_squares(to_quant_params({range}, spec));
    });
  }
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(mse) {
  using namespace tare;
  return {.name = "mse",
          .summary = "the range with the least mean squared error",
          .options = {},
          .make = [](const CalibratorOptions&) { return std::make_unique<Mse>(); }};
}
