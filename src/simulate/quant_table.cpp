#include "tare/quant_table.h"

#include "base/check.h"

namespace tare {

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
