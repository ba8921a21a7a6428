// A range that is known beforehand, whatever the samples say: pixels in [0,255], a probability.
// Or a scale and a zero point, as training with quantization has left them.
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

class FixedParameters final : public Calibrator {
 public:
  explicit FixedParameters(ScaleAndZeroPoint params) : params_(params) {}

  Range choose(const TensorStatistics&, const QuantSpec& spec) const override {
    const StorageRange range = storage_range(spec.storage, spec.narrow_range, spec.bits);
    const auto end = [&](std::int64_t storage) {
      return static_cast<double>(params_.scale) *
             static_cast<double>(storage - params_.zero_point);
    };
    return {end(range.low), end(range.high)};
  }
  CalibratorAnswer answer(const TensorStatistics&, const QuantSpec&,
                          const CalibrationPoint&) const override {
    return params_;
  }

 private:
  ScaleAndZeroPoint params_;
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
          .summary =
              "the range from `low` to `high`, whatever the samples are; of activations also "
              "`scale` and `zero_point`",
          .options = {"low", "high", "scale", "zero_point"},
          .make = [](const CalibratorOptions& options) -> std::unique_ptr<const Calibrator> {
            if (const double scale = options.number("scale", 0); scale > 0) {
              return std::make_unique<FixedParameters>(ScaleAndZeroPoint{
                  static_cast<float>(scale),
                  static_cast<std::int32_t>(std::lround(options.number("zero_point", 0)))});
            }
            return std::make_unique<Fixed>(checked(options));
          },
          .given = true};
}
