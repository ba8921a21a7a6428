#include "calibrate/plain_params.h"

#include <algorithm>
#include <cmath>

namespace tare::test {
namespace {

/// [qmin, qmax] of the table there.
struct Ends {
  double low;
  double high;
};

Ends ends_of(const QuantSpec& spec) {
  const bool is_signed = spec.storage == DType::kInt8 || spec.storage == DType::kInt16;
  const double steps =
      spec.storage == DType::kInt8 || spec.storage == DType::kUint8 ? 256 : 65536;
  const double low = is_signed ? -steps / 2 : 0;
  return {low + (spec.narrow_range ? 1 : 0), low + steps - 1};
}

}  // namespace

PlainParams plain_params(Range range, const QuantSpec& spec) {
  const auto [low, high] = ends_of(spec);
  const double a = std::min(range.low, 0.0);
  const double b = std::max(range.high, 0.0);
  if (spec.symmetric) {
    const double middle = low < 0 ? 0 : std::ceil((low + high) / 2);
    const double scale = std::max(-a, b) / (high - middle);
    return {spec.power_of_two ? std::exp2(std::ceil(std::log2(scale))) : scale, middle};
  }
  const double exact = (b - a) / (high - low);
  const double zero = std::clamp(std::nearbyint(low - a / exact), low, high);
  if (!spec.power_of_two) {
    return {std::max({exact, zero > low ? -a / (zero - low) : 0,
                      zero < high ? b / (high - zero) : 0}),
            zero};
  }
  double scale = std::exp2(std::ceil(std::log2(exact)));
  if (std::ceil(low - a / scale) > std::floor(high - b / scale)) {
    scale *= 2;
  }
  return {scale, std::clamp(zero, std::ceil(low - a / scale), std::floor(high - b / scale))};
}

double plain_storage_value(float real, float scale, double zero_point, double low,
                           double high) {
  return std::clamp(static_cast<double>(std::nearbyint(real / scale)) + zero_point, low, high);
}

}  // namespace tare::test
