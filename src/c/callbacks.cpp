// Calibrators and metrics of the caller, as parts of a toolkit.
#include "c/callbacks.h"

#include "tare/error.h"

#include "c/array.h"
#include "c/guard.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace tare::c {
namespace {

class CallbackCalibrator final : public Calibrator {
 public:
  explicit CallbackCalibrator(const tare_calibrator& given) : given_(given) {}

  Range choose(const TensorStatistics& observed, const QuantSpec& spec) const override {
    return ask(observed, spec, "", "", "", false);
  }

  CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                          const CalibrationPoint& point) const override {
    const std::string name(point.name);
    const std::string op(point.op);
    return ask(observed, spec, name.c_str(), op.c_str(), point.target.name.c_str(),
               point.is_weight);
  }

 private:
  Range ask(const TensorStatistics& observed, const QuantSpec& spec, const char* point,
            const char* op, const char* target, bool is_weight) const {
    const std::vector<std::uint64_t> bins = observed.bins();
    const tare_histogram histogram{.low = observed.low(),
                                   .high = observed.high(),
                                   .mean_low = observed.mean_low(),
                                   .mean_high = observed.mean_high(),
                                   .count = observed.count(),
                                   .zeros = observed.zeros(),
                                   .samples = observed.samples(),
                                   .bins = bins.data(),
                                   .bin_count = bins.size(),
                                   .bin_width = observed.bin_width()};
    const StorageRange storage = storage_range(spec.storage, spec.narrow_range, spec.bits);
    const tare_spec asked{.point = point,
                          .op = op,
                          .target = target,
                          .storage_low = storage.low,
                          .storage_high = storage.high,
                          .storage = static_cast<std::int32_t>(spec.storage),
                          .is_weight = is_weight ? 1 : 0,
                          .symmetric = spec.symmetric ? 1 : 0,
                          .power_of_two = spec.power_of_two ? 1 : 0};
    Range range;
    if (given_.choose(given_.context, &histogram, &asked, &range.low, &range.high) != 0) {
      throw CallbackFailed{"choose"};
    }
    if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low > range.high) {
      throw Error(ErrorCode::kInvalidConfig, std::string("calibrator '") + given_.name + "'",
                  "chose the range " + std::to_string(range.low) + " to " +
                      std::to_string(range.high) + " for '" + point + "'")
          .expected("two finite numbers, the lower one first");
    }
    return range;
  }

  tare_calibrator given_;
};

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(std::to_string(i));
  }
  return names;
}

std::optional<double> of_sample(const tare_metric& metric, const SampleResults& results) {
  const std::vector<std::string> names = numbered(results.real.size());
  const Views real(results.real, names);
  const Views quantized(results.quantized, names);
  double value = 0;
  const int status =
      metric.of_sample(metric.context, real.data(), quantized.data(), real.size(),
                       results.label ? &*results.label : nullptr, &value);
  if (status < 0) {
    throw CallbackFailed{"of_sample"};
  }
  return status == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

CalibratorInfo calibrator_of(const tare_calibrator& given, const std::string& name) {
  tare_calibrator kept = given;
  kept.name = name.c_str();
  return {.name = name,
          .summary = "of the program that uses the library",
          .options = {},
          .make = [kept](const CalibratorOptions&) {
            return std::make_unique<CallbackCalibrator>(kept);
          }};
}

MetricInfo metric_of(const tare_metric& given, const std::string& name) {
  return {.name = name, .summary = "of the program that uses the library", .make = [given] {
            return std::make_unique<MeanMetric>(
                [given](const SampleResults& results) { return of_sample(given, results); });
          }};
}

}  // namespace tare::c
