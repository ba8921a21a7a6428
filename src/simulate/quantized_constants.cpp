#include "simulate/quantized_constants.h"

#include "tare/quant_table.h"

#include "base/check.h"

namespace tare {

Tensor quantized_weight(const Tensor& exact, const PointResult& weight) {
  Tensor nearest = quantize(exact, weight.params);
  if (weight.rounding.empty()) {
    return nearest;
  }
  check(weight.rounding.size() == static_cast<std::size_t>(exact.size()),
        "a weight and its rounding have different sizes");
  std::vector<float> integers = nearest.to_float();
  for (std::size_t i = 0; i < integers.size(); ++i) {
    integers[i] += static_cast<float>(weight.rounding[i]);
  }
  QuantParams unit;
  unit.storage = weight.params.storage;
  unit.narrow_range = weight.params.narrow_range;
  unit.bits = weight.params.bits;
  return quantize(Tensor::of<float>(exact.shape(), integers), unit);
}

Tensor corrected_bias(const Tensor& bias, const PointResult& accumulator) {
  Tensor result = bias;
  if (!accumulator.bias_correction.empty()) {
    const auto values = result.mutable_view<float>();
    check(values.size() == accumulator.bias_correction.size(),
          "a bias and its correction have different sizes");
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += accumulator.bias_correction[i];
    }
  }
  return result;
}

}  // namespace tare
