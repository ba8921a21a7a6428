#include "tare/arithmetic.h"
#include "tare/calibrator.h"

// The range with the least expected squared error of quantizing and expressing a value again,
// or, where only an activation function reads it, of what that makes of it.
//
// Rounding and saturation are weighed against each other by how far they put values off (Nagel,
// Fournarakis, Amjad, Bondarenko, van Baalen and Blankevoort, "A White Paper on Neural Network
// Quantization", 2021, section 3.1). Cost: up to 360 candidates, each a pass over the filled
// bins (expected_error.h, range_search.h).

namespace tare {
namespace {

class Mse final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    const ExpectedError error(observed);
    return least_error_range(observed, spec, [&](const QuantParams& params) {
      return error.sum_of_squares(params);
    });
  }

  CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                          const CalibrationPoint& point) const override {
    return point.error_behind ? least_error_range(observed, spec, point.error_behind)
                              : choose(observed, spec);
  }

 private:
  static Range least_error_range(const TensorStatistics& observed, const QuantSpec& spec,
                                 const std::function<double(const QuantParams&)>& error) {
    constexpr int kStepsPerOctave = 8;  // neighbours are 9 % apart, before it is refined
    return least_cost_range(observed, spec, kStepsPerOctave, [&](const Range& range) {
      return error(to_quant_params({range}, spec));
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
