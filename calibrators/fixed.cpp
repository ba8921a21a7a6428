// A range that is known beforehand, whatever the samples say: pixels in [0,255], a probability.
#include "tare/calibrator.h"
#include "tare/error.h"

#include <cmath>
#include <limits>

namespace tare {
namespace {

class Fixed final : public Calibrator {
 public:
  explicit Fixed(Range range) : range_(range) {}

  Range choose(const TensorStatistics&, const QuantSpec&) const override { return range_; }

 private:
  Range range_;
};

/// Where the range cannot be one, everything that is wrong with it.
Range checked(const CalibratorOptions& options) {
  constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
  const std::string where = "calibrator 'fixed'";
  Faults faults;
  const auto end = [&](const std::string& key) {
    const double value = options.number(key, kAbsent);
    if (std::isnan(value)) {
      faults.add(where, "has no '" + key + "'", "a number");
    } else if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
      faults.add(where, key + " is " + std::to_string(value), "a number that fits float32");
    }
    return value;
  };
  const Range range{end("low"), end("high")};
  if (range.low > range.high) {
    faults.add(where, "low is " + std::to_string(range.low),
               "at most high, which is " + std::to_string(range.high));
  }
  faults.raise(ErrorCode::kInvalidConfig);
  return range;
}

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(fixed) {
  using namespace tare;
  return {.name = "fixed",
          .summary = "the range from `low` to `high`, whatever the samples are",
          .options = {"low", "high"},
          .make =
              [](const CalibratorOptions& options) {
                return std::make_unique<Fixed>(checked(options));
              },
          .given = true};
}
