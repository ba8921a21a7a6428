#include "fuzz/envelope_values.h"

#include <algorithm>
#include <cmath>

namespace tare::fuzz {

Tensor map(const Tensor& a, const std::function<double(double)>& f) {
  Tensor result(DType::kFloat32, a.shape());
  const auto in = a.view<float>();
  const auto out = result.mutable_view<float>();
  std::transform(in.begin(), in.end(), out.begin(),
                 [&](float x) { return static_cast<float>(f(static_cast<double>(x))); });
  return result;
}

Tensor map(const Tensor& a, const Tensor& b, const std::function<double(double, double)>& f) {
  Tensor result(DType::kFloat32, a.shape());
  const auto left = a.view<float>();
  const auto right = b.view<float>();
  const auto out = result.mutable_view<float>();
  for (std::size_t i = 0; i < left.size(); ++i) {
    out[i] = static_cast<float>(f(static_cast<double>(left[i]), static_cast<double>(right[i])));
  }
  return result;
}

Tensor magnitudes(const Envelope& e) {
  return map(e.low, e.high,
             [](double low, double high) { return std::max(std::abs(low), std::abs(high)); });
}

Envelope widened(const Envelope& e, const Tensor& error) {
  constexpr double kUnderflow = 4096.0 * std::numeric_limits<float>::min();
  const auto down = [](double x, double by) {
    return std::isnan(x - by) ? -kInfinity : x - by - kUnderflow;
  };
  const auto up = [](double x, double by) {
    return std::isnan(x + by) ? kInfinity : x + by + kUnderflow;
  };
  return {map(e.low, error, down), map(e.high, error, up)};
}

Envelope bounded(const Shape& shape, double magnitude) {
  const Tensor zeros(DType::kFloat32, shape);
  return {map(zeros, [&](double) { return -magnitude; }),
          map(zeros, [&](double) { return magnitude; })};
}

Envelope unknown(const Shape& shape) {
  return bounded(shape, kInfinity);
}

Envelope either(const Envelope& a, const Envelope& b) {
  return {map(a.low, b.low, [](double x, double y) { return std::min(x, y); }),
          map(a.high, b.high, [](double x, double y) { return std::max(x, y); })};
}

}  // namespace tare::fuzz
